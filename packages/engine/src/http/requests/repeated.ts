import { HTTPException } from "hono/http-exception";
import { isAppError } from "../../errors/errors.ts";
import type { Run } from "../../storage/records.ts";
import type { Submission } from "../../storage/storage.ts";
import type { HttpServices } from "../environment.ts";

/**
 * The run that the same request has begun in a session; `undefined` also without a key. 422 for a key that came with
 * another request. A route whose requests mean what the session is at the time looks for it first: a repeated request finds
 * the session changed by its own run.
 */
export async function repeatedRun(
  { runs }: Pick<HttpServices, "runs">,
  sessionId: string,
  submission: Submission | undefined,
): Promise<Run | undefined> {
  return submission && (await runs.submitted(sessionId, submission).catch(refuseConflict));
}

/** Throws the error of a run's admission; a conflict is 422, as in LangGraph's API. */
export function refuseConflict(error: unknown): never {
  throw isAppError(error) && error.code === "conflict" ? new HTTPException(422, { message: error.message }) : error;
}
