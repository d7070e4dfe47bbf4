import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { runRecord, sessionRecord } from "../../contract/records.ts";

/** A process that is killed in the middle of three tool calls. It prints `ready` once they are started. */
const storage = createSqliteStorage(process.argv[2] ?? "");
await storage.sessions.create(sessionRecord("s1"));
await storage.runs.admit(runRecord("r1", "s1"));
await storage.runs.claim("s1");
const call = { session_id: "s1", run_id: "r1", tool: "t" };
await storage.manualCalls.ledger.start({ ...call, tool_call_id: "ended", effect: "unsafe" });
await storage.manualCalls.ledger.finish("s1", "ended", "the result");
await storage.manualCalls.ledger.start({ ...call, tool_call_id: "unsafe", effect: "unsafe" });
await storage.manualCalls.ledger.start({ ...call, tool_call_id: "idempotent", effect: "idempotent" });
await storage.manualCalls.ledger.start({ ...call, tool_call_id: "pure", effect: "pure" });
process.stdout.write("ready\n");
// Holds the process until the test kills it.
process.stdin.resume();
