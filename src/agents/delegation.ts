import { parse } from "yaml";
import { z } from "zod";
import { errorMessage } from "@millrace/engine/errors/errors";

/** Maximum number of agents per call. */
export const maxAgents = 8;

/** One piece of work and the agent that does it. */
export const Assignment = z.object({
  name: z.string().trim().min(1).describe("the agent's name"),
  task: z.string().trim().min(1).describe("all that the agent must know: it does not see this conversation"),
});
export type Assignment = z.infer<typeof Assignment>;

/** In parallel, or one after another in list order. */
export const DelegationMode = z.enum(["parallel", "serial"]);
export type DelegationMode = z.infer<typeof DelegationMode>;

/** The modes of a call: `DelegationMode`, or `background`, which returns at once. */
export const CallMode = z.enum([...DelegationMode.options, "background"]);
export type CallMode = z.infer<typeof CallMode>;

const Assignments = z.array(Assignment).min(1).max(maxAgents);
const Whole = z.object({ mode: CallMode.optional(), subagents: Assignments });
const Written = z.union([Whole, Assignments.transform((subagents) => ({ mode: undefined, subagents }))]);

/** The parsed assignments, or the problem. */
export type ReadDelegation =
  | { kind: "delegation"; mode: CallMode | undefined; subagents: Assignment[] }
  | { kind: "invalid"; problem: string };

/** Maximum characters of YAML: parsing a map is quadratic in its keys. */
const maxTextLength = 32 * 1024;

const expected = `Expected a list of 1 to ${maxAgents} entries with name and task, as YAML or JSON: [{"name": "reviewer", "task": "…"}].`;

/** Reads assignments from YAML or JSON: a list, or an object with `mode` and `subagents`. */
export function readDelegation(text: string): ReadDelegation {
  let value: unknown;
  try {
    value = parseText(text);
  } catch (error) {
    return { kind: "invalid", problem: `${expected} (${errorMessage(error).split("\n", 1)[0] ?? ""})` };
  }
  const read = Written.safeParse(value);
  if (!read.success) return { kind: "invalid", problem: expected };
  const { mode, subagents } = read.data;
  return { kind: "delegation", mode, subagents };
}

/** Parses JSON of any length, else YAML. Throws if it is neither. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (text.length > maxTextLength) throw new Error(`YAML may have ${maxTextLength} characters, ${text.length} came`);
    return parse(text, { maxAliasCount: 0, logLevel: "error" });
  }
}
