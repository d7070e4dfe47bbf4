import type { RunRequest } from "../../runs/admission/draft.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import { RunBody, toRunRequest } from "./run-request.ts";
import { checkedBody } from "./runs.ts";

/** What the payload of a cron asks of a run in a session. A run that comes while another one works waits its turn. */
export async function cronRequest(
  services: Parameters<typeof checkedBody>[0],
  payload: JsonObject,
  session: Session,
  temporary: boolean,
): Promise<RunRequest> {
  const { body } = await checkedBody(services, RunBody.parse({ multitask_strategy: "enqueue", ...payload }));
  return toRunRequest(body, session, {}, temporary);
}
