import * as z from "zod/mini";
import type { Run } from "../api/shapes.ts";
import type { UserItem } from "./items.ts";

const Attached = z.object({ attachments: z._default(z.array(z.object({ path: z.string() })), []) });
const QueuedInput = z.object({
  messages: z.array(
    z.looseObject({ id: z.optional(z.string()), content: z.unknown(), additional_kwargs: z.optional(Attached) }),
  ),
});

/** The message that a pending run will answer. */
export function queuedOf(run: Run): UserItem {
  const { assistant_id: assistant = "", kwargs } = run;
  const last = z.safeParse(QueuedInput, kwargs?.input).data?.messages.at(-1);
  const text = typeof last?.content === "string" ? last.content : "";
  return {
    kind: "user",
    id: last?.id ?? run.run_id,
    text,
    attachments: (last?.additional_kwargs?.attachments ?? []).map(({ path }) => ({ name: path })),
    ...(typeof last?.content === "string" && { waits: { assistant, context: kwargs?.context ?? {} } }),
    timestamp: run.created_at,
    state: "queued",
    runId: run.run_id,
  };
}
