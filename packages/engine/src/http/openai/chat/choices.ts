import type { JsonObject } from "../../../storage/records.ts";

/** What a client may ask of the model that our own agent knows as well. */
export interface ModelChoices {
  temperature?: number | null | undefined;
  max_tokens?: number | null | undefined;
  /** How much it is to think. */
  effort?: string | null | undefined;
}

/** The same as the context of a run. */
export function choicesOf({ temperature, max_tokens, effort }: ModelChoices): JsonObject {
  return {
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof max_tokens === "number" && { max_tokens: Math.min(max_tokens, 1_000_000) }),
    ...(typeof effort === "string" && { thinking: effort !== "none" && effort !== "minimal" }),
  };
}
