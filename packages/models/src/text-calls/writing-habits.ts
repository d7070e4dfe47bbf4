import type { CallForm } from "./parser.ts";
import type { WritingHabits } from "./read-reply.ts";

/** Model families by name, and the format in which an unaware server leaves their calls in the text. */
const families: readonly { name: RegExp; form: CallForm }[] = [
  { name: /deepseek/iu, form: "deepseek" },
  { name: /(?:mis|mix|minis|magis|devs|codes|pix)tral/iu, form: "mistral" },
  { name: /qwen|qwq|glm|hermes/iu, form: "tool_call" },
];

/** Models whose template opens the reasoning, so that their text only closes it. */
const openingInThought = /deepseek-?r1|qwq|thinking/iu;

/**
 * How a model with native calls writes, judging by its name. `keepsApart`: its service never leaves reasoning in the
 * text, so replies do not begin in one.
 */
export function writingHabits(name: string, keepsApart: boolean): WritingHabits {
  const forms = families.filter((family) => family.name.test(name)).map(({ form }) => form);
  return { forms: new Set(forms), opensInThought: !keepsApart && openingInThought.test(name) };
}
