/** A typed client of dagentd's socket, for Node and Bun; it has no dependencies. */
import { Methods } from "./client.js"
import { Connection } from "./connection.js"
import { socketPath } from "./paths.js"
import type { Event, EventType } from "./types.js"

export { Connection, DagentdError } from "./connection.js"
export { socketPath } from "./paths.js"
export type * from "./types.js"

export interface Filters {
  types?: EventType[]
  project?: string
  sessionId?: string
  since?: number
}

/** `await client.session.addMessage({…})`, `await client.subscribe({…})`. */
export class Client extends Methods {
  private constructor(
    readonly connection: Connection,
    private readonly path: string,
  ) {
    super(connection)
  }

  static async connect(path: string = socketPath()): Promise<Client> {
    return new Client(await Connection.open(path), path)
  }

  /** Events from now on, or after `since`, over a connection of their own: they hold up no call. */
  async subscribe(filters: Filters = {}): Promise<Subscription> {
    return Subscription.begin(await Connection.open(this.path), filters)
  }

  close(): void {
    this.connection.close()
  }
}

/** `for await (const event of subscription)`; `close()` ends it. Not `continuous`: some after `since` are missing. */
export class Subscription implements AsyncIterable<Event> {
  id = ""
  seq = 0
  continuous = true
  private readonly events: Event[] = []
  private ended: Error | null = null
  private closed = false
  private wake: () => void = () => {}

  private constructor(private readonly connection: Connection) {
    connection.onEvent = (event) => {
      this.events.push(event)
      this.wake()
    }
    connection.onEnd = (error) => {
      this.ended = error
      this.wake()
    }
  }

  static async begin(connection: Connection, filters: Filters): Promise<Subscription> {
    const made = new Subscription(connection)
    const { subscription, seq, continuous } = await connection.call<{
      subscription: string
      seq: number
      continuous: boolean
    }>("events.subscribe", filters)
    return Object.assign(made, { id: subscription, seq, continuous })
  }

  /** Fails when the daemon has ended. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Event> {
    for (;;) {
      const event = this.events.shift()
      if (event) yield event
      else if (this.closed) return
      else if (this.ended) throw this.ended
      else await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }

  close(): void {
    this.closed = true
    this.connection.close()
    this.wake()
  }
}
