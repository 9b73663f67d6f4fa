/** One connection to the daemon: JSON-RPC 2.0, one JSON object a line. */
import { lstatSync } from "node:fs"
import { createConnection, type Socket } from "node:net"
import { socketPath } from "./paths.js"
import type { Event } from "./types.js"

/** What the daemon answered instead of a result; `hint` says what to do. */
export class DagentdError extends Error {
  readonly hint: string

  constructor(
    readonly code: number,
    message: string,
    readonly data?: { hint?: string },
  ) {
    super(message)
    this.name = "DagentdError"
    this.hint = data?.hint ?? ""
  }
}

interface Waiting {
  resolve: (result: never) => void
  reject: (error: Error) => void
}

interface Message {
  id?: number | null
  method?: string
  params?: unknown
  result?: unknown
  error?: { code: number; message: string; data?: { hint?: string } }
}

export class Connection {
  private readonly waiting = new Map<number, Waiting>()
  private readonly chunks: Buffer[] = []
  private lastId = 0
  private ended: Error | null = null
  /** Called with each event of what was subscribed on this connection. */
  onEvent: (event: Event) => void = () => {}
  /** Called once, when the connection has ended. */
  onEnd: (error: Error) => void = () => {}

  private constructor(private readonly socket: Socket) {
    socket.on("data", (chunk: Buffer) => this.take(chunk))
    socket.on("error", (error) => this.end(error))
    socket.on("close", () => this.end(new Error("the connection to dagentd ended")))
  }

  /** Fails if nobody listens: `dagentd start`. */
  static open(path: string = socketPath()): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const other = lstatSync(path, { throwIfNoEntry: false })
      if (other && other.uid !== process.geteuid?.()) throw new Error(`${path} is the socket of another user`)
      const socket = createConnection(path)
      const failed = (error: Error) => reject(new Error(`dagentd is not running at ${path}: ${error.message}`))
      socket.once("error", failed)
      socket.once("connect", () => {
        socket.off("error", failed)
        resolve(new Connection(socket))
      })
    })
  }

  /** The result, or DagentdError. If the connection ends, the daemon may or may not have done it. */
  call<Result>(method: string, params: object): Promise<Result> {
    if (this.ended) return Promise.reject(this.ended)
    const id = ++this.lastId
    return new Promise<Result>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as (result: never) => void, reject })
      this.socket.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n")
    })
  }

  close(): void {
    this.socket.destroy()
  }

  private take(chunk: Buffer): void {
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10)) {
      const line = Buffer.concat([...this.chunks.splice(0), chunk.subarray(0, end)]).toString("utf8")
      chunk = chunk.subarray(end + 1)
      this.hear(JSON.parse(line) as Message)
    }
    if (chunk.length) this.chunks.push(chunk)
  }

  private hear(message: Message): void {
    if (message.method === "event") return this.onEvent(message.params as Event)
    const { error } = message
    const told = error && new DagentdError(error.code, error.message, error.data)
    if (message.id == null) {
      if (told) this.end(told) // about the connection
      return
    }
    const waiting = this.waiting.get(message.id)
    this.waiting.delete(message.id)
    if (told) waiting?.reject(told)
    else waiting?.resolve(message.result as never)
  }

  private end(error: Error): void {
    if (this.ended) return
    this.ended = error
    this.socket.destroy()
    for (const each of this.waiting.values()) each.reject(error)
    this.waiting.clear()
    this.onEnd(error)
  }
}
