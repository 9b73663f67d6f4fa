/** Where the daemon listens, by the same rule as the daemon's own. */
import { createHash } from "node:crypto"
import { lstatSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"

const LONGEST = process.platform === "darwin" ? 103 : 107 // bytes that the path of a socket may have

/**
 * `DAGENTD_SOCKET`, else below `XDG_RUNTIME_DIR`, else in a folder of the user under the temp dir; one that is too long
 * is replaced by a short one made from it.
 */
export function socketPath(env: Record<string, string | undefined> = process.env): string {
  const runtime = env["XDG_RUNTIME_DIR"] ?? ""
  const given = env["DAGENTD_SOCKET"]
  const wanted = given ? resolve(given) : isAbsolute(runtime) ? join(runtime, "dagentd", "dagentd.sock") : null
  if (wanted === null) return own("dagentd.sock", env)
  if (fits(wanted)) return wanted
  return own(`${createHash("sha256").update(wanted).digest("hex").slice(0, 16)}.sock`, env)
}

/** In the state folder where another user took the place under the temp dir. */
function own(name: string, env: Record<string, string | undefined>): string {
  const folder = short(name, env)
  const given = env["XDG_STATE_HOME"] ?? ""
  const state = isAbsolute(given) ? given : join(env["HOME"] || homedir(), ".local", "state")
  const spare = join(state, "dagentd", name)
  const there = lstatSync(spare, { throwIfNoEntry: false }) !== undefined
  return (there || isTaken(folder)) && fits(spare) ? spare : join(folder, name)
}

function short(name: string, env: Record<string, string | undefined>): string {
  const given = env["TMPDIR"] ?? ""
  const mine = `dagentd-${process.getuid?.()}`
  return isAbsolute(given) && fits(join(given, mine, name)) ? join(given, mine) : join("/tmp", mine)
}

function isTaken(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found !== undefined && (!found.isDirectory() || found.uid !== process.getuid?.())
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= LONGEST
}
