import { AppError } from "@millrace/engine/errors/errors";
import type { EffectClass } from "@millrace/engine/storage/records";
import { parameterSchema } from "./parameters.ts";
import { failure, type ToolResult } from "./result.ts";
import type { Tool } from "./tool.ts";

/** A tool in prompts and GET /tools. `parameters` is a JSON Schema; the time is in seconds. */
export interface ToolDescription {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  effect: EffectClass;
  timeout_seconds: number;
  is_default: boolean;
  example: { title: string; body: string } | null;
  guideline: string | null;
}

/** A tool in OpenAI's function format, as LangChain's `bindTools` takes it. */
export interface ToolDefinition {
  type: "function";
  function: { name: string; description: string; parameters: Record<string, unknown> };
}

/** All tools of a server, by name. */
export interface Registry {
  get(name: string): Tool | undefined;
  /** In the order of registration. */
  list(): Tool[];
  /** Throws `conflict` if the name exists. */
  register(tool: Tool): void;
  /** Returns false if there was no such tool. */
  unregister(name: string): boolean;
  /** The tools of a run that names none. */
  defaults(): Tool[];
  /** The named tools, in that order, without duplicates. Throws `tool_not_found` for an unknown name. */
  restrict(names: string[]): Tool[];
  describe(): ToolDescription[];
}

/** Creates a registry with these tools. */
export function createRegistry(tools: Iterable<Tool> = []): Registry {
  const byName = new Map<string, Tool>();

  const registry: Registry = {
    get: (name) => byName.get(name),
    list: () => [...byName.values()],
    register(tool) {
      if (byName.has(tool.name)) {
        throw new AppError("conflict", `A tool named "${tool.name}" is registered already.`, {
          suggestion: "Give it another name, or unregister the first one.",
        });
      }
      byName.set(tool.name, tool);
    },
    unregister: (name) => byName.delete(name),
    defaults: () => [...byName.values()].filter((tool) => tool.offered?.isDefault ?? true),
    restrict(names) {
      return [...new Set(names)].map((name) => {
        const tool = byName.get(name);
        if (tool) return tool;
        throw new AppError("tool_not_found", unknownTool(name, [...byName.keys()]), {
          suggestion: "Use the names of the list.",
        });
      });
    },
    describe: () => [...byName.values()].map(describeTool),
  };
  for (const tool of tools) registry.register(tool);
  return registry;
}

/** The result of a call to an unknown tool. */
export function toolNotFound(name: string, available: string[]): ToolResult {
  return failure(
    "tool_not_found",
    unknownTool(name, available),
    "Call one of these instead, or answer without a tool.",
    { available },
  );
}

const definitions = new WeakMap<Tool, ToolDefinition>();

/** The definitions for a model; the same tool always gives the same object. */
export function toLangChainTools(tools: readonly Tool[]): ToolDefinition[] {
  return tools.map((tool) => {
    const known = definitions.get(tool);
    if (known !== undefined) return known;
    const { name, description } = tool;
    const made: ToolDefinition = {
      type: "function",
      function: { name, description, parameters: parameterSchema(tool) },
    };
    definitions.set(tool, made);
    return made;
  });
}

function unknownTool(name: string, available: string[]): string {
  const list = available.length === 0 ? "no tools are available" : `available tools: ${available.join(", ")}`;
  return `There is no tool named "${name}"; ${list}.`;
}

/** Describes one tool. */
export function describeTool(tool: Tool): ToolDescription {
  return {
    name: tool.name,
    description: tool.description,
    parameters: parameterSchema(tool),
    effect: tool.effect,
    timeout_seconds: tool.timeoutSeconds,
    is_default: tool.offered?.isDefault ?? true,
    example: tool.example ?? null,
    guideline: tool.guideline ?? null,
  };
}
