import type { CallForm } from "./parser.ts";
import type { WritingHabits } from "./read-reply.ts";

/** Families of models by their names, and the form in which a server that does not know them leaves their calls in the words. */
const families: readonly { name: RegExp; form: CallForm }[] = [
  { name: /deepseek/iu, form: "deepseek" },
  { name: /(?:mis|mix|minis|magis|devs|codes|pix)tral/iu, form: "mistral" },
  { name: /qwen|qwq|glm|hermes/iu, form: "tool_call" },
];

/** Models whose template opens the thought, so that their words have only its end. */
const openingInThought = /deepseek-?r1|qwq|thinking/iu;

/**
 * How a model with calls of its own writes, as far as its name tells. `keepsApart`: its service never leaves thoughts
 * in the words, so that a reply does not begin in one.
 */
export function writingHabits(name: string, keepsApart: boolean): WritingHabits {
  const forms = families.filter((family) => family.name.test(name)).map(({ form }) => form);
  return { forms: new Set(forms), opensInThought: !keepsApart && openingInThought.test(name) };
}
