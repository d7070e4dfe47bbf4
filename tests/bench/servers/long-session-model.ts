import { countText } from "../../../src/context/tokens/tokens.ts";
import { startModelServer, wireText, type ModelRequest, type ModelStep } from "../../support/testing.ts";
import { compress } from "../../../src/prompts/templates/compress.ts";
import { hasPrompt } from "../../support/system-text.ts";

/** The model of the long session, in a process of its own: what it does is no time of ours. */

/** The fact that it gets in the third turn, and what it is asked in the last. */
export const fact = "The vault opens with 4711.";
export const question = "How does the vault open?";

/** The most tokens that one request had: words, calls and the definitions of tools, as they were sent. */
let most = 0;
/** The body of the last request, to be sent again by the client alone. */
let latest: ModelRequest["body"] | undefined;

/** Answers with 1 KB, and looks for what it does not see any more. */
function answer({ messages, body }: ModelRequest): ModelStep {
  latest = body;
  const texts = messages.map(wireText);
  const calls = messages.flatMap(({ tool_calls }) => tool_calls ?? []);
  most = Math.max(most, countText(texts.join("")) + countText(JSON.stringify([calls, body.tools ?? []])));
  const [last, text = ""] = [messages.at(-1), texts.at(-1)];
  if (hasPrompt(texts[0] ?? "", compress)) return { text: '{"goal": "talk on"}' };
  if (last?.role === "tool") return { text: text.includes(fact) ? fact : "I do not know." };
  if (text.includes(question)) return { toolCalls: [{ name: "read_history", arguments: { query: "vault opens" } }] };
  return { text: "Word after word. ".repeat(60), chunks: ["Word after word. ".repeat(60)] };
}

if (process.send !== undefined) {
  const server = await startModelServer({ handler: answer, record: false });
  process.on("message", (wanted) => process.send?.(wanted === "most" ? most : latest));
  process.send(server.url);
  process.once("disconnect", () => void server.close());
}
