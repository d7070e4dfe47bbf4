import { describe, expect, it } from "vitest";
import type { McpServerConfig } from "../mcp-config.ts";
import { toTools } from "../mcp-tool.ts";
import { success } from "../../../src/tools/runtime/result.ts";

const server: McpServerConfig = {
  name: "shop",
  transport: { kind: "http", url: "http://localhost", headers: {} },
  timeoutSeconds: 20,
  connectSeconds: 20,
  only: undefined,
  secrets: [],
  ruleOf: () => ({ effect: "unsafe", approval: "ask" }),
};

describe("the description of an MCP tool", () => {
  it.each([
    ["is cut without half a character", `${"a".repeat(3_999)}😀`, "a".repeat(3_999)],
    ["has nothing in it that only a model sees", "look\u{E0041}\u202E\uD800 at\tthis\n", "look at\tthis\n"],
  ])("%s", (_, description, expected) => {
    const listed = { name: "buy", description, inputSchema: { type: "object" } };
    const { tools } = toTools(server, [listed], async () => success("bought"));
    expect(tools.map((tool) => tool.description)).toEqual([expected]);
  });
});
