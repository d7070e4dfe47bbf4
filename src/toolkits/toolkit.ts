import type { Collector } from "../context/collectors/collector.ts";
import type { Guardrail } from "../guardrails/guardrail.ts";
import type { Template } from "../prompts/template.ts";
import type { Profile } from "../state.ts";
import type { Tool } from "../tools/runtime/tool.ts";

/**
 * What one kind of work needs, switched on and off as a whole: by configuration for the server, and by each run for
 * itself. The parts stand in the lists of their kinds; here they get an owner, and count only where it is switched on.
 */
export interface Toolkit {
  /** By which configuration and runs name it: lower case, words joined by dashes. */
  name: string;
  title: { en: string; zh: string };
  /** What it is for, in a sentence, for people who choose. */
  description: { en: string; zh: string };
  tools: readonly Tool[];
  /** The texts that are of this work alone. */
  templates: readonly Template[];
  /** Whose identity the assistant has in a run that names this toolkit and no profile. */
  identity?: Profile;
  /** Asked only in runs that have the toolkit. */
  collectors: readonly Collector[];
  /** Rules over the calls of its own tools, after those over all calls. They hold in every run. */
  guardrails: readonly Guardrail[];
  /** `default`: unless the configuration names others. `named`: only where the operator says so. `always`: in every run. */
  enabled: "default" | "named" | "always";
}
