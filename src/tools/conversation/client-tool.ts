import { AppError } from "@millrace/engine/errors/errors";
import type { ClientTool } from "../../user-context.ts";
import { readArgumentSchema } from "../runtime/argument-schema.ts";
import { defineTool, type Tool } from "../runtime/tool.ts";
import { onlyInConversation } from "../runtime/result.ts";

/**
 * Tools that the client runs: a call waits like a question, and the client's answer is its result. Throws
 * `invalid_parameter` for an invalid argument schema or a duplicate name.
 */
export function clientTools(given: readonly ClientTool[]): Tool[] {
  const names = given.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw wrong(`The client's tool ${twice} comes twice.`);
  return given.map(toTool);
}

function toTool({ name, description, parameters }: ClientTool): Tool {
  const read = readArgumentSchema(parameters ?? { type: "object", properties: {} });
  if (typeof read === "string") throw wrong(`The client's tool ${name} cannot be offered: ${read}.`);
  return defineTool({
    name,
    description: description ?? name,
    ...read,
    // The client's effect is unknown, so the tool is not available in plan mode.
    effect: "unsafe",
    operation: async () => ({ type: "Query" }),
    run: async () => onlyInConversation(name),
    inTurn: {
      asks: (args) => ({
        kind: "client_tool",
        question: `Waiting for the client's result of ${name}.`,
        options: [],
        args,
      }),
    },
  });
}

function wrong(message: string): AppError {
  return new AppError("invalid_parameter", message, {
    suggestion: "Correct client_tools; parameters is the JSON Schema of an object.",
  });
}
