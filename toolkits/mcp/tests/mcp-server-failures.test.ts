import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { McpServerConfig } from "../mcp-config.ts";
import { never, openFakeSources, soon, type FakeSources } from "./fake-source.ts";

let fakes: FakeSources;
beforeAll(async () => {
  fakes = await openFakeSources();
});
afterAll(() => fakes.close());

describe("an MCP server", () => {
  it.each([
    ["says that a call failed", "fail", "execution_failed", "no such thing"],
    ["refuses the arguments", "refuse", "invalid_parameter", "not these arguments"],
    ["answers with something that is no result", "odd", "execution_failed", "is no result"],
    ["dies", "die", "network", "it ended with exit code 3"],
    ["answers with what is no JSON", "garbage", "network", "no JSON-RPC message"],
    ["answers with more than a message may have", "huge", "network", "more than 10 MB"],
  ])("that %s gives a clear result and can be used again", async (_, tool, errorType, words) => {
    await using fixture = fakes.source();
    const result = await fixture.call(tool);
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toContain(words);
    if (errorType === "network") expect(result.content).toContain("not known");
    expect(await fixture.call("echo", { message: "again" })).toMatchObject({ success: true, content: "again" });
    expect(await fixture.logged("call")).toEqual([`call ${tool}`, "call echo"]);
  });

  it("that hangs is given up after the time of its tools; one that still answers is kept, a deaf one is replaced", async () => {
    for (const [mode, starts] of [
      ["well", 1],
      ["deaf", 2],
    ] as const) {
      await using fixture = fakes.source(mode, { timeoutSeconds: 0.3 });
      expect(await fixture.call("hang")).toMatchObject({ success: false, errorType: "timeout" });
      const echo = { ...(await fixture.tool("echo")), timeoutSeconds: 20 };
      expect(await fakes.workspace.call(echo, { message: "still there" })).toMatchObject({ content: "still there" });
      expect(await fixture.logged("start")).toHaveLength(starts);
      expect(await fixture.logged("cancelled")).not.toEqual([]);
    }
  });

  it("gets a stop at once, and its later answer is ignored", async () => {
    await using fixture = fakes.source();
    const late = await fixture.tool("late");
    const stop = new AbortController();
    const stopped = late.run({}, { ...fakes.workspace.context, signal: stop.signal });
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
    await using fixture = fakes.source(mode, {
      ...(mode === "silent" ? { connectSeconds: 0.5 } : {}),
      ...(mode === "well"
        ? { transport: { kind: "stdio", command, args: [], cwd: fakes.folder, environment: {} } }
        : {}),
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
        cwd: fakes.folder,
        environment: { TOKEN: key },
      },
    };
    await using fixture = fakes.source("well", { transport: transports[kind], secrets: [key] });
    expect(await fixture.source.tools(never)).toEqual([]);
    expect(fixture.warnings).toMatchObject([{ reason: expect.stringContaining("No such token") }]);
    expect(JSON.stringify(fixture.warnings)).not.toContain(key);
  });

  it("that was down is tried again beside the runs, and its tools come back", async () => {
    await using fixture = fakes.source("down-until-file");
    expect(await fixture.source.tools(never)).toEqual([]);
    await writeFile(`${fixture.logFile}.up`, "");
    await expect.poll(async () => (await fixture.source.tools(never)).length, soon).toBeGreaterThan(0);
    expect(await fixture.call("echo", { message: "back" })).toMatchObject({ content: "back" });
  });

  it("does not hold up a run that is stopped while it is being started", async () => {
    await using fixture = fakes.source("silent");
    const stop = new AbortController();
    const asked = fixture.source.tools(stop.signal);
    stop.abort(new Error("stopped"));
    await expect(asked).rejects.toThrow("stopped");
  });

  it("is not asked for anything by a call that was stopped before it began", async () => {
    await using fixture = fakes.source();
    const tool = await fixture.tool("echo");
    await fixture.source.close();
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const signal = AbortSignal.abort(new Error("stopped"));
      await expect(tool.run({ message: "x" }, { ...fakes.workspace.context, signal })).rejects.toThrow("stopped");
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });
});
