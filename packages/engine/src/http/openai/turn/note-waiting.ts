import type { HttpServices } from "../../environment.ts";
import type { BegunTurn } from "./begin-turn.ts";
import { toHistory } from "../chat/chat-completion.ts";
import type { TurnEvent } from "./follow-turn.ts";
import { digestOf } from "./input-message.ts";

/** Notes with a thread that nobody has named after which answer it waits, so that the client's next request finds it. */
export async function noteWaiting(
  { storage }: Pick<HttpServices, "storage">,
  { run, unnamed }: BegunTurn,
  events: readonly TurnEvent[],
): Promise<void> {
  const last = events.at(-1);
  if (unnamed === undefined || last === undefined || !("end" in last)) return;
  if (last.end.questions.length + last.end.calls.length === 0) return;
  const openai_waits = digestOf([...unnamed, toHistory(events)]);
  await storage.sessions.update(run.session_id, { metadata: { openai_waits } });
}
