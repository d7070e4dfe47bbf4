import { findAssistant, type Graphs } from "../../graphs/load.ts";
import type { Run, Session } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import { withBoundAnswer } from "./bound-answer.ts";
import { bindRequest, draftRun, assistantNotFound, requireStartCheckpoint, type RunRequest } from "./draft.ts";
import { requireNextNodes } from "./next-nodes.ts";

/** The row that a request is admitted with, after all checks that need no lock. Throws what refuses the request. */
export async function prepareRun(
  session: Session,
  request: RunRequest,
  { storage, graphs }: { storage: Storage; graphs: Graphs },
): Promise<Run> {
  const { found: assistant = await findAssistant(storage, graphs, request.assistant) } = request;
  if (assistant === undefined) throw assistantNotFound(request.assistant, graphs);
  const unbound = draftRun(session, await bindRequest(session, request, storage.runs), assistant, graphs);
  const { checkpointer } = storage;
  const origin = await requireStartCheckpoint(unbound, checkpointer);
  const draft = unbound.kwargs.command ? await withBoundAnswer(unbound, session, origin, checkpointer) : unbound;
  if ((draft.kwargs.input ?? null) === null)
    await requireNextNodes(draft, graphs.fixed(draft.graph_id), origin, checkpointer);
  return draft;
}
