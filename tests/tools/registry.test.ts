import { describe, expect, it } from "vitest";
import { z } from "zod";
import { builtInTools } from "../../src/toolkits/enabled-toolkits.ts";
import { createRegistry, toLangChainTools, toolNotFound } from "../../src/tools/runtime/registry.ts";
import { success } from "../../src/tools/runtime/result.ts";
import { defineTool, type Tool } from "../../src/tools/runtime/tool.ts";

const aTool = (name: string, isDefault?: boolean) =>
  defineTool({
    name,
    description: `does ${name}`,
    schema: z.object({ count: z.number().int().optional().describe("how many") }),
    effect: "pure",
    timeoutSeconds: 5,
    resources: () => [],
    operation: async () => ({ type: "Query" }),
    run: async () => success("done"),
    ...(isDefault === undefined ? {} : { offered: { isDefault } }),
  });

describe("registry", () => {
  it("finds tools by name, in the order they were registered", () => {
    const [one, two] = [aTool("one"), aTool("two")];
    const registry = createRegistry([one]);
    registry.register(two);
    expect(registry.get("two")).toBe(two);
    expect(registry.get("three")).toBeUndefined();
    expect(registry.list()).toEqual([one, two]);
  });

  it("refuses a second tool of the same name", () => {
    const registry = createRegistry([aTool("one")]);
    expect(() => registry.register(aTool("one"))).toThrow(expect.objectContaining({ code: "conflict" }));
  });

  it("removes every trace of a tool", () => {
    const registry = createRegistry([aTool("one"), aTool("two")]);
    expect(registry.unregister("one")).toBe(true);
    expect(registry.unregister("one")).toBe(false);
    expect(registry.get("one")).toBeUndefined();
    expect(registry.describe().map((tool) => tool.name)).toEqual(["two"]);
    expect(registry.defaults().map((tool) => tool.name)).toEqual(["two"]);
    expect(() => registry.restrict(["one"])).toThrow(expect.objectContaining({ code: "tool_not_found" }));
    registry.register(aTool("one"));
    expect(registry.get("one")).toBeDefined();
  });

  it("gives a run that names nothing the default set", () => {
    const registry = createRegistry([aTool("one"), aTool("rare", false), aTool("two", true)]);
    expect(registry.defaults().map((tool) => tool.name)).toEqual(["one", "two"]);
  });

  it("restricts to a list, each once, and names what is available when one is unknown", () => {
    const registry = createRegistry([aTool("one"), aTool("two")]);
    expect(registry.restrict(["two", "one", "two"]).map((tool) => tool.name)).toEqual(["two", "one"]);
    expect(() => registry.restrict(["three"])).toThrow(/"three".*one, two/);
  });

  it("describes the built-in tools with everything a prompt or a page needs", () => {
    const described = createRegistry(Object.values(builtInTools())).describe();
    expect(described.map((tool) => tool.name)).toEqual(Object.keys(builtInTools()));
    for (const tool of described) {
      expect(tool.parameters, tool.name).toMatchObject({ type: "object", properties: expect.anything() });
      expect(tool.description.length, tool.name).toBeGreaterThan(20);
      expect(tool.example, tool.name).not.toBeNull();
    }
  });

  it("sends models nothing of a schema that they cannot use", () => {
    const definitions = JSON.stringify(toLangChainTools(Object.values(builtInTools())));
    expect(definitions).not.toContain("$schema");
    expect(definitions).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });

  it("has examples that the tools accept", () => {
    for (const tool of Object.values(builtInTools())) {
      const input: unknown = JSON.parse(tool.example?.body ?? "");
      expect(tool.schema.safeParse(input).success, tool.name).toBe(true);
    }
  });

  it("gives file tools 30 seconds, what has limits of its own as much as those need, and the others 60", () => {
    const own: Record<string, number> = {
      edit_current_editor_document: 5,
      read_editor_document: 5,
      run_simulation: 90,
      web_search: 30,
      web_fetch: 30,
      web_crawl: 120,
      semantic_search: 120,
    };
    const usual = (name: string) => (/file|folder|content|code|plot/.test(name) ? 30 : 60);
    for (const { name, timeoutSeconds } of Object.values(builtInTools()))
      expect(timeoutSeconds, name).toBe(own[name] ?? usual(name));
  });

  it("has a look at what was done for every reconcilable tool, and says for every file tool what it touches", () => {
    const all = Object.values(builtInTools());
    expect(all.filter((tool: Tool) => (tool.effect === "reconcilable") !== (tool.reconcile !== undefined))).toEqual([]);
    const changing = all.filter((tool: Tool) => /_file$|_folder$/.test(tool.name) && tool.effect !== "pure");
    expect(changing.filter((tool: Tool) => tool.touches === undefined)).toEqual([]);
    expect(changing.length).toBeGreaterThanOrEqual(8);
  });

  it("makes a definition once for each tool, and anew for one that takes its place (PROMPT-25)", () => {
    const [one, other] = [aTool("one"), aTool("one")];
    const [first] = toLangChainTools([one]);
    expect(toLangChainTools([aTool("before"), one])[1]).toBe(first);
    expect(toLangChainTools([other])[0]).not.toBe(first);
  });

  it("writes definitions in OpenAI's function format", () => {
    expect(toLangChainTools([aTool("one")])).toEqual([
      {
        type: "function",
        function: {
          name: "one",
          description: "does one",
          parameters: {
            type: "object",
            properties: { count: { type: "integer", description: "how many" } },
          },
        },
      },
    ]);
  });
});

describe("an unknown tool", () => {
  it("is answered with TOOL_NOT_FOUND and the list", () => {
    const result = toolNotFound("reed_file", ["read_file", "list_files"]);
    expect(result).toMatchObject({ success: false, code: "TOOL_NOT_FOUND", errorType: "tool_not_found" });
    expect(result.content).toContain("read_file, list_files");
    expect(toolNotFound("x", []).content).toContain("no tools are available");
  });
});
