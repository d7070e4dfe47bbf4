import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isBaseMessage } from "@millrace/engine/message-kinds";
import { partialReply, replaceable } from "../../nodes/turn/partial-reply.ts";
import type { JsonObject, Session } from "@millrace/engine/storage/records";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";
import { lastRunOf } from "@millrace/engine/sessions/overview/last-run";
import { readValues } from "@millrace/engine/sessions/sessions";

const WithMessages = z.looseObject({ messages: z.array(z.custom<BaseMessage>(isBaseMessage)) });

/**
 * The request of a run that continues a reply which a stop cut off: that of the last run. Throws `invalid_state` if the
 * session does not end with a partial reply. To regenerate one, the closing message of a stop is enough.
 */
export async function partialRequest(
  { storage, runs }: Pick<OwnerScope, "storage" | "runs">,
  session: Session,
  partial: "continue" | "regenerate",
): Promise<{ assistant_id: string; context: JsonObject }> {
  const values = await readValues(storage, session.session_id);
  const find = partial === "continue" ? partialReply : replaceable;
  find(WithMessages.safeParse(values).data?.messages ?? []);
  const { assistant, context } = await lastRunOf(runs, session);
  return { assistant_id: assistant, context };
}
