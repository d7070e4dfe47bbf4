import { z } from "zod";
import { historyProblem } from "@millrace/testing/model-server-script";
import { wireText, type WireMessage } from "@millrace/testing/model-server";

const Call = z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) });

/**
 * Everything that OpenAI's own service refuses in a list of messages: beside calls without results, names that are no
 * names, ids of more than 40 and lists of more than 128 calls, arguments that are no JSON object, and half characters.
 */
export function strictProblems(messages: readonly WireMessage[]): string[] {
  const order = historyProblem([...messages]);
  return [...(order === undefined ? [] : [order]), ...messages.flatMap((message) => messageProblems(message))];
}

/** The ids that several calls of a conversation have: Anthropic's service refuses such a history. */
export function repeatedIds(messages: readonly WireMessage[]): string[] {
  const ids = messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id);
  return ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `several calls have the id ${id}`);
}

function messageProblems(message: WireMessage): string[] {
  const problems: string[] = [];
  const text = wireText(message);
  const calls = z.array(Call).parse(message.tool_calls ?? []);
  if (!text.isWellFormed()) {
    const at = text.search(/\p{Surrogate}/u);
    problems.push(
      `half a character in a message of the role ${message.role}: ${text.slice(Math.max(0, at - 60), at + 20)}`,
    );
  }
  if (message.role === "assistant" && text === "" && calls.length === 0) problems.push("an empty reply");
  if (calls.length > 128) problems.push(`${calls.length} calls in one message`);
  for (const { id, function: called } of calls) {
    if (!/^[\w-]{1,64}$/u.test(called.name)) problems.push(`a call of "${called.name.slice(0, 80)}", which is no name`);
    if (id === "" || id.length > 40) problems.push(`a call id of ${id.length} characters`);
    if (!isObject(called.arguments)) problems.push(`arguments that are no object: ${called.arguments.slice(0, 80)}`);
  }
  return problems;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    // Not JSON: that is the answer.
    return false;
  }
}
