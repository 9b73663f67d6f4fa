// Does what it is told on standard input, a JSON object a line, with the built TypeScript client.
import { existsSync } from "node:fs"
import { createInterface } from "node:readline"
import { Client, DagentdError, socketPath } from "dagentd-client"

const answer = (value) => process.stdout.write(JSON.stringify(value) + "\n")
const heard = []
let client

const acts = {
  path: ({ env }) => socketPath(env),
  async connect() {
    client = await Client.connect()
    const events = await client.subscribe()
    const listen = async () => {
      for await (const event of events) heard.push(event)
    }
    listen().catch(() => {}) // the daemon has ended
    return events.continuous
  },
  async call({ method, params }) {
    const [space, name] = method.split(".")
    return client[space][name](params)
  },
  heard: ({ from }) => heard.slice(from),
  block({ until }) {
    const cell = new Int32Array(new SharedArrayBuffer(4))
    answer({ result: null })
    while (!existsSync(until)) Atomics.wait(cell, 0, 0, 20)
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  const { act, ...given } = JSON.parse(line)
  try {
    answer({ result: (await acts[act](given)) ?? null })
  } catch (error) {
    answer({ error: error.message, code: error instanceof DagentdError ? error.code : null })
  }
}
process.exit(0)
