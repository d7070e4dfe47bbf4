import { createHash } from "node:crypto";
import type { Run, Session } from "../../storage/records.ts";
import type { HttpServices } from "../environment.ts";
import type { submissionOf } from "../validate.ts";

/** Where the runs of an API keep the digest of their request's key, in their metadata. */
type KeyField = "openai_key" | "a2a_key";

/** The digest of a request's `Idempotency-Key`; `undefined` without one. */
export function keyDigestOf(submission: ReturnType<typeof submissionOf>): string | undefined {
  return submission && createHash("sha256").update(submission.key).digest("hex");
}

/**
 * The run that a request under this key has begun in a session, among its newest runs. A route whose requests mean what
 * the session is at the time looks for it first: a repeated request finds the session changed by its own run.
 */
export async function runOfKey(
  { runs }: Pick<HttpServices, "runs">,
  { session_id }: Session,
  field: KeyField,
  digest: string | undefined,
): Promise<Run | undefined> {
  if (digest === undefined) return undefined;
  const newest = await runs.list(session_id, { limit: 20, offset: 0 });
  return newest.find(({ metadata }) => metadata[field] === digest);
}
