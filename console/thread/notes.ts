import * as z from "zod/mini";
import type { NoteItem } from "./items.ts";

const Reason = z.object({ reason: z.string() });

type Note = Pick<NoteItem, "note" | "values">;

/** The line that an event becomes, if it is one that a person should see. */
export function noteOf(payload: { type: string } & Record<string, unknown>): Note | undefined {
  const reason = z.safeParse(Reason, payload).data?.reason ?? "";
  switch (payload.type) {
    case "retry":
      return { note: "retry", values: { reason } };
    case "degraded":
      return { note: "degraded", values: { reason } };
    case "loop_detected":
      return { note: "loop", values: { reason } };
    case "context_warning":
      return { note: "context", values: { reason: `${String(payload["source"])}: ${reason}` } };
    case "compressed":
      return { note: "compressed", values: { count: Number(payload["messages"]) } };
    case "web_search_started":
      return { note: "search", values: { query: String(payload["query"]) } };
    case "web_search_error":
      return { note: "searchFailed", values: { reason: String(payload["message"]) } };
    case "model_changed":
      return { note: "model", values: { model: String(payload["to_model"]) } };
    default:
      return undefined;
  }
}
