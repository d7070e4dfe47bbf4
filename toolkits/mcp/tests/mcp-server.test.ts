import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { McpServerConfig } from "../mcp-config.ts";
import { createMcpSource } from "../mcp-source.ts";
import { parameterSchema } from "../../../src/tools/runtime/parameters.ts";
import type { Tool, ToolSource } from "../../../src/tools/runtime/tool.ts";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

const program = fileURLToPath(new URL("fake-server.ts", import.meta.url));
const never = new AbortController().signal;
/** How long something may take on a busy machine. */
const soon = { timeout: 30_000 };

let folder = "";
let workspace: Workspace;
let files = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-mcp-"));
  workspace = await aWorkspace();
});
afterAll(async () => {
  await workspace[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Fixture extends AsyncDisposable {
  source: ToolSource;
  warnings: { message: string; reason?: string; problems?: string[] }[];
  logFile: string;
  /** The lines of the server's log that begin with a word. */
  logged(word: string): Promise<string[]>;
  tool(name: string): Promise<Tool>;
  call(name: string, input?: object): Promise<ToolResult>;
}

/** A source with one fake server. */
function aSource(mode = "well", changes: Partial<McpServerConfig> = {}): Fixture {
  const logFile = join(folder, `log-${(files += 1)}`);
  const server: McpServerConfig = {
    name: "fake",
    transport: {
      kind: "stdio",
      command: process.execPath,
      args: [program, logFile, mode],
      cwd: folder,
      environment: {},
    },
    secrets: [],
    timeoutSeconds: 20,
    connectSeconds: 20,
    only: undefined,
    ruleOf: () => ({ effect: "unsafe", approval: "ask" }),
    ...changes,
  };
  const warnings: Fixture["warnings"] = [];
  // Only the two-argument form of a pino method is used.
  const warn = ((what: object, message: string) => warnings.push({ message, ...what })) as never;
  const source = createMcpSource([server], { warn }, { retrySeconds: 0 });
  const tool = async (name: string): Promise<Tool> => {
    const found = (await source.tools(never)).find((candidate) => candidate.name === `fake__${name}`);
    if (found === undefined) throw new Error(`The server does not offer ${name}.`);
    return found;
  };
  return {
    source,
    warnings,
    logFile,
    tool,
    logged: async (word) =>
      (await readFile(logFile, "utf8").catch(() => "")).split("\n").filter((line) => line.startsWith(word)),
    call: async (name, input = {}) => workspace.call(await tool(name), input),
    [Symbol.asyncDispose]: () => source.close(),
  };
}

describe("an MCP server", () => {
  it("is started when its tools are first asked for, once", async () => {
    await using fixture = aSource();
    expect(await fixture.logged("start")).toEqual([]);
    await Promise.all([fixture.source.tools(never), fixture.source.tools(never)]);
    expect(await fixture.call("echo", { message: "hello" })).toMatchObject({ success: true, content: "hello" });
    expect(await fixture.logged("start")).toHaveLength(1);
  });

  it("has tools that carry its name, that are unsafe and ask, unless a rule says otherwise", async () => {
    await using fixture = aSource("well", {
      ruleOf: (tool) =>
        tool === "image" ? { effect: "pure", approval: "allow" } : { effect: "unsafe", approval: "ask" },
    });
    const echo = await fixture.tool("echo");
    expect(echo).toMatchObject({ effect: "unsafe", description: "Says it again", timeoutSeconds: 20 });
    expect(await echo.operation({}, workspace.context)).toMatchObject({ type: "HighRiskOperation" });
    expect(echo.resources({}, workspace.context)).toEqual(["mcp:fake"]);
    expect(parameterSchema(echo)).toEqual({
      type: "object",
      properties: { message: { type: "string" } },
      required: ["message"],
    });
    const image = await fixture.tool("image");
    expect(await image.operation({}, workspace.context)).toEqual({ type: "Query" });
    expect(image).toMatchObject({ effect: "pure" });
    expect(await fixture.call("not_a_name")).toMatchObject({ success: true, content: "ran not.a name" });
  });

  it("never sees arguments that do not fit, and sees those that were put right", async () => {
    await using fixture = aSource();
    expect(await fixture.call("echo", {})).toMatchObject({ success: false, errorType: "missing_parameter" });
    expect(await fixture.call("echo", { message: ["a"] })).toMatchObject({ errorType: "invalid_parameter" });
    expect(await fixture.call("echo", { message: 5 })).toMatchObject({ success: true, content: "5" });
    expect(await fixture.logged("call")).toEqual(["call echo"]);
  });

  it("offers only the tools that are wanted, and is warned about one that it has not", async () => {
    await using fixture = aSource("well", { only: ["echo", "missing"] });
    expect((await fixture.source.tools(never)).map(({ name }) => name)).toEqual(["fake__echo"]);
    expect(fixture.warnings).toMatchObject([
      { message: "mcp_tools_left_out", problems: [expect.stringContaining("missing")] },
    ]);
  });

  it("loses tools that cannot be used, each with a warning, and keeps the others", async () => {
    await using fixture = aSource("bad-tools");
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

  it.each([
    ["says that a call failed", "fail", "execution_failed", "no such thing"],
    ["refuses the arguments", "refuse", "invalid_parameter", "not these arguments"],
    ["answers with something that is no result", "odd", "execution_failed", "is no result"],
    ["dies", "die", "network", "it ended with exit code 3"],
    ["answers with what is no JSON", "garbage", "network", "no JSON-RPC message"],
    ["answers with more than a message may have", "huge", "network", "more than 10 MB"],
  ])("that %s gives a clear result and can be used again", async (_, tool, errorType, words) => {
    await using fixture = aSource();
    const result = await fixture.call(tool);
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toContain(words);
    if (errorType === "network") expect(result.content).toContain("not known");
    expect(await fixture.call("echo", { message: "again" })).toMatchObject({ success: true, content: "again" });
    expect(await fixture.logged("call")).toEqual([`call ${tool}`, "call echo"]);
  });

  it("has its long and its unreadable results cut and named", async () => {
    await using fixture = aSource();
    const long = await fixture.call("long");
    expect(long.content?.length).toBeLessThan(201_000);
    expect(long.content).toContain("100000 of 300000 characters were not kept");
    expect((await fixture.call("image")).content).toBe("[image image/png, 3 bytes, not shown]");
  });

  it("that announces other tools is asked for them; when it does not list them, the old ones are kept with a warning", async () => {
    await using fixture = aSource("well", { connectSeconds: 3 });
    await fixture.call("grow");
    expect(await fixture.call("grown")).toMatchObject({ success: true, content: "ran grown" });
    await fixture.call("sulk");
    expect(await fixture.call("echo", { message: "still here" })).toMatchObject({ content: "still here" });
    expect(fixture.warnings).toMatchObject([{ message: "mcp_list_not_read" }]);
    expect(await fixture.logged("start")).toHaveLength(1);
  });

  it("that hangs is given up after the time of its tools; one that still answers is kept, a deaf one is replaced", async () => {
    for (const [mode, starts] of [
      ["well", 1],
      ["deaf", 2],
    ] as const) {
      await using fixture = aSource(mode, { timeoutSeconds: 0.3 });
      expect(await fixture.call("hang")).toMatchObject({ success: false, errorType: "timeout" });
      const echo = { ...(await fixture.tool("echo")), timeoutSeconds: 20 };
      expect(await workspace.call(echo, { message: "still there" })).toMatchObject({ content: "still there" });
      expect(await fixture.logged("start")).toHaveLength(starts);
      expect(await fixture.logged("cancelled")).not.toEqual([]);
    }
  });

  it("gets a stop at once, and its later answer is ignored", async () => {
    await using fixture = aSource();
    const late = await fixture.tool("late");
    const stop = new AbortController();
    const stopped = late.run({}, { ...workspace.context, signal: stop.signal });
    await expect.poll(() => fixture.logged("call"), soon).toHaveLength(1);
    stop.abort(new Error("stopped by a person"));
    await expect(stopped).rejects.toThrow("stopped by a person");
    expect(await fixture.call("echo", { message: "own answer" })).toMatchObject({ content: "own answer" });
    expect(await fixture.logged("cancelled")).toHaveLength(1);
  });

  it.each([
    ["cannot be started", "well", "cannot be started"],
    ["ends at once", "down", "it ended with exit code 1 and said: the licence has run out"],
    ["never answers", "silent", "did not answer within 0.5 seconds"],
    ["lists tools without end", "endless", "does not end"],
  ])("that %s has no tools, and a warning says why", async (_, mode, reason) => {
    const command = "/nowhere/to/be/found";
    await using fixture = aSource(mode, {
      ...(mode === "silent" ? { connectSeconds: 0.5 } : {}),
      ...(mode === "well" ? { transport: { kind: "stdio", command, args: [], cwd: folder, environment: {} } } : {}),
    });
    expect(await fixture.source.tools(never)).toEqual([]);
    expect(fixture.warnings).toMatchObject([{ message: "mcp_server_down", reason: expect.stringContaining(reason) }]);
  });

  it.each(["http", "stdio"] as const)("that repeats a refused key is reported without the key (%s)", async (kind) => {
    const key = "canary-key-0193bd";
    const refusing = createServer((request, response) => {
      response.writeHead(401).end(`No such token: ${request.headers.authorization}`);
    });
    onTestFinished(() => void refusing.close());
    refusing.listen(0, "127.0.0.1");
    await once(refusing, "listening");
    // A server that listens on a port has an AddressInfo.
    const { port } = refusing.address() as AddressInfo;
    const script = 'console.error("No such token: " + process.env.TOKEN); process.exit(1)';
    const transports: Record<typeof kind, McpServerConfig["transport"]> = {
      http: { kind: "http", url: `http://127.0.0.1:${port}/mcp`, headers: { authorization: `Bearer ${key}` } },
      stdio: {
        kind: "stdio",
        command: process.execPath,
        args: ["-e", script],
        cwd: folder,
        environment: { TOKEN: key },
      },
    };
    await using fixture = aSource("well", { transport: transports[kind], secrets: [key] });
    expect(await fixture.source.tools(never)).toEqual([]);
    expect(fixture.warnings).toMatchObject([{ reason: expect.stringContaining("No such token") }]);
    expect(JSON.stringify(fixture.warnings)).not.toContain(key);
  });

  it("that was down is tried again beside the runs, and its tools come back", async () => {
    await using fixture = aSource("down-until-file");
    expect(await fixture.source.tools(never)).toEqual([]);
    await writeFile(`${fixture.logFile}.up`, "");
    await expect.poll(async () => (await fixture.source.tools(never)).length, soon).toBeGreaterThan(0);
    expect(await fixture.call("echo", { message: "back" })).toMatchObject({ content: "back" });
  });

  it("does not hold up a run that is stopped while it is being started", async () => {
    await using fixture = aSource("silent");
    const stop = new AbortController();
    const asked = fixture.source.tools(stop.signal);
    stop.abort(new Error("stopped"));
    await expect(asked).rejects.toThrow("stopped");
  });

  it("is not asked for anything by a call that was stopped before it began", async () => {
    await using fixture = aSource();
    const tool = await fixture.tool("echo");
    await fixture.source.close();
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const signal = AbortSignal.abort(new Error("stopped"));
      await expect(tool.run({ message: "x" }, { ...workspace.context, signal })).rejects.toThrow("stopped");
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });

  it.each(["with-child", "stubborn"])("ends with everything it has started (%s)", async (mode) => {
    const fixture = aSource(mode);
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
    const fixture = aSource();
    const { status } = spawnSync(process.execPath, ["--input-type=module", "-e", leavingProgram(fixture.logFile)]);
    expect(status).toBe(7);
    const [start] = await fixture.logged("start");
    await expect.poll(() => lives(Number(start?.split(" ")[1])), soon).toBe(false);
  });
});

/** Starts a server as `aSource` does, in a process that then leaves without closing anything. */
function leavingProgram(logFile: string): string {
  const transport = {
    kind: "stdio",
    command: process.execPath,
    args: [program, logFile, "stubborn"],
    cwd: folder,
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
