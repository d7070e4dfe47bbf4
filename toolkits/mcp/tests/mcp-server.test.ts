import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parameterSchema } from "../../../src/tools/runtime/parameters.ts";
import { never, openFakeSources, program, soon, type FakeSources } from "./fake-source.ts";

let fakes: FakeSources;
beforeAll(async () => {
  fakes = await openFakeSources();
});
afterAll(() => fakes.close());

describe("an MCP server", () => {
  it("is started when its tools are first asked for, once", async () => {
    await using fixture = fakes.source();
    expect(await fixture.logged("start")).toEqual([]);
    await Promise.all([fixture.source.tools(never), fixture.source.tools(never)]);
    expect(await fixture.call("echo", { message: "hello" })).toMatchObject({ success: true, content: "hello" });
    expect(await fixture.logged("start")).toHaveLength(1);
  });

  it("has tools that carry its name, that are unsafe and ask, unless a rule says otherwise", async () => {
    await using fixture = fakes.source("well", {
      ruleOf: (tool) =>
        tool === "image" ? { effect: "pure", approval: "allow" } : { effect: "unsafe", approval: "ask" },
    });
    const echo = await fixture.tool("echo");
    expect(echo).toMatchObject({ effect: "unsafe", description: "Says it again", timeoutSeconds: 20 });
    expect(await echo.operation({}, fakes.workspace.context)).toMatchObject({ type: "HighRiskOperation" });
    expect(echo.resources({}, fakes.workspace.context)).toEqual(["mcp:fake"]);
    expect(parameterSchema(echo)).toEqual({
      type: "object",
      properties: { message: { type: "string" } },
      required: ["message"],
    });
    const image = await fixture.tool("image");
    expect(await image.operation({}, fakes.workspace.context)).toEqual({ type: "Query" });
    expect(image).toMatchObject({ effect: "pure" });
    expect(await fixture.call("not_a_name")).toMatchObject({ success: true, content: "ran not.a name" });
  });

  it("never sees arguments that do not fit, and sees those that were put right", async () => {
    await using fixture = fakes.source();
    expect(await fixture.call("echo", {})).toMatchObject({ success: false, errorType: "missing_parameter" });
    expect(await fixture.call("echo", { message: ["a"] })).toMatchObject({ errorType: "invalid_parameter" });
    expect(await fixture.call("echo", { message: 5 })).toMatchObject({ success: true, content: "5" });
    expect(await fixture.logged("call")).toEqual(["call echo"]);
  });

  it("offers only the tools that are wanted, and is warned about one that it has not", async () => {
    await using fixture = fakes.source("well", { only: ["echo", "missing"] });
    expect((await fixture.source.tools(never)).map(({ name }) => name)).toEqual(["fake__echo"]);
    expect(fixture.warnings).toMatchObject([
      { message: "mcp_tools_left_out", problems: [expect.stringContaining("missing")] },
    ]);
  });

  it("loses tools that cannot be used, each with a warning, and keeps the others", async () => {
    await using fixture = fakes.source("bad-tools");
    const names = (await fixture.source.tools(never)).map(({ name }) => name);
    expect(names).toContain("fake__echo");
    expect(names).toHaveLength(14);
    expect(fixture.warnings[0]?.problems).toEqual([
      expect.stringContaining("no-schema: its inputSchema is no"),
      expect.stringContaining("wrong-schema: its inputSchema is no"),
      "a tool without a name",
      expect.stringContaining("longer than 64"),
      expect.stringContaining("comes twice"),
      expect.stringContaining("huge-schema"),
    ]);
  });

  it("has its long and its unreadable results cut and named", async () => {
    await using fixture = fakes.source();
    const long = await fixture.call("long");
    expect(long.content?.length).toBeLessThan(201_000);
    expect(long.content).toContain("100000 of 300000 characters were not kept");
    expect((await fixture.call("image")).content).toBe("[image image/png, 3 bytes, not shown]");
  });

  it("that announces other tools is asked for them; when it does not list them, the old ones are kept with a warning", async () => {
    await using fixture = fakes.source("well", { connectSeconds: 3 });
    await fixture.call("grow");
    expect(await fixture.call("grown")).toMatchObject({ success: true, content: "ran grown" });
    await fixture.call("sulk");
    expect(await fixture.call("echo", { message: "still here" })).toMatchObject({ content: "still here" });
    expect(fixture.warnings).toMatchObject([{ message: "mcp_list_not_read" }]);
    expect(await fixture.logged("start")).toHaveLength(1);
  });

  it.each(["with-child", "stubborn"])("ends with everything it has started (%s)", async (mode) => {
    const fixture = fakes.source(mode);
    await fixture.source.tools(never);
    const lines = [...(await fixture.logged("start")), ...(await fixture.logged("child"))];
    const processes = lines.map((line) => Number(line.split(" ")[1]));
    expect(processes).toHaveLength(mode === "with-child" ? 2 : 1);
    expect(processes.filter(lives)).toEqual(processes);
    await fixture.source.close();
    await expect.poll(() => processes.filter(lives), soon).toEqual([]);
    expect(await fixture.source.tools(never)).toEqual([]);
    expect(fixture.warnings).toEqual([]);
  });

  it("ends with the program, also when that leaves at once", async () => {
    const fixture = fakes.source();
    const { status } = spawnSync(process.execPath, ["--input-type=module", "-e", leavingProgram(fixture.logFile)]);
    expect(status).toBe(7);
    const [start] = await fixture.logged("start");
    await expect.poll(() => lives(Number(start?.split(" ")[1])), soon).toBe(false);
  });
});

/** Starts a server as `source` does, in a process that then leaves without closing anything. */
function leavingProgram(logFile: string): string {
  const transport = {
    kind: "stdio",
    command: process.execPath,
    args: [program, logFile, "stubborn"],
    cwd: fakes.folder,
    environment: {},
  };
  const source = fileURLToPath(new URL("../mcp-source.ts", import.meta.url));
  return `
    import { createMcpSource } from ${JSON.stringify(source)};
    const server = { name: "fake", transport: ${JSON.stringify(transport)}, timeoutSeconds: 20, connectSeconds: 20,
      secrets: [], only: undefined, ruleOf: () => ({ effect: "unsafe", approval: "ask" }) };
    const source = createMcpSource([server], console);
    const tools = await source.tools(new AbortController().signal);
    process.exit(tools.length > 0 ? 7 : 1);`;
}

/** Whether a process still runs. A zombie, for which its parent has not waited yet, has ended. */
function lives(pid: number): boolean {
  const { status, stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return status === 0 && !stdout.startsWith("Z");
}
