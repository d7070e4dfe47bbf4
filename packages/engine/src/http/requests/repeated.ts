import { HTTPException } from "hono/http-exception";
import { isAppError } from "../../errors/errors.ts";
import type { Run } from "../../storage/records.ts";
import type { Submission } from "../../storage/storage.ts";
import type { HttpServices } from "../environment.ts";

/**
 * What `begin` answers, unless the same request has begun a run before: that one's answer then. What a request means depends
 * on its session, which its own run has changed; so its run is looked for first, and once more after a refusal: the same
 * request may have been admitted meanwhile.
 */
export async function beginOnce<Result>(
  find: () => Promise<Result | undefined>,
  begin: () => Promise<Result>,
): Promise<Result> {
  const known = await find();
  if (known !== undefined) return known;
  try {
    return await begin();
  } catch (error) {
    const begun = await find();
    if (begun === undefined) throw error;
    return begun;
  }
}

/**
 * The run that the same request has begun in a session; `undefined` also without a key. 422 for a key that came with
 * another request.
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
