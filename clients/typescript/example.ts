// Says something in a session, hears of it, and builds the request to send to a model: bun example.ts SESSION
import { Client } from "dagentd-client"

const sessionId = process.argv[2] ?? ""
const daemon = await Client.connect()
const events = await daemon.subscribe({ types: ["session:updated"] })
const said = await daemon.session.addMessage({ sessionId, role: "user", content: "We use PostgreSQL, not SQLite." })
for await (const event of events) {
  if (event.type === "session:updated" && event.messageIds?.includes(said.id)) {
    console.log(event.action, event.sessionId)
    break
  }
}
const request = await daemon.session.buildRequest({ sessionId, userMessage: "Go on.", form: "messages" })
console.log(request.messages?.at(-1)?.content, request.totalTokens > 0)
events.close()
daemon.close()
