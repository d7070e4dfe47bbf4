import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readMcpConfig, type McpSettings } from "../mcp-config.ts";
import { openMcpServers } from "../mcp-source.ts";

const environment: Record<string, string> = { PATH: "/bin", HOME: "/home/a", TOKEN: "secret-part", OTHER: "kept" };
const variable = (name: string): string | undefined => environment[name];

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-mcp-config-"));
  await mkdir(join(folder, "workspace"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function put(text: string, name = "mcp.json"): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

async function read(mcpServers: object): Promise<McpSettings> {
  return readMcpConfig(await put(JSON.stringify({ mcpServers })), variable);
}

describe("the file of MCP servers", () => {
  it("gives a process the few variables that every program needs, and those it names", async () => {
    const { servers } = await read({ files: { command: "node", args: ["a.js"], env: ["TOKEN"] } });
    expect(servers).toMatchObject([{ name: "files", timeoutSeconds: 60, connectSeconds: 10, only: undefined }]);
    expect(servers[0]?.transport).toEqual({
      kind: "stdio",
      command: "node",
      args: ["a.js"],
      cwd: folder,
      environment: { PATH: "/bin", HOME: "/home/a", TOKEN: "secret-part" },
    });
  });

  it("takes the secrets in headers from the environment", async () => {
    const headers = { Authorization: "Bearer ${TOKEN}", "X-Plain": "as it is" };
    const { servers } = await read({ far: { type: "http", url: "https://example.org/mcp", headers } });
    expect(servers[0]?.transport).toEqual({
      kind: "http",
      url: "https://example.org/mcp",
      headers: { Authorization: "Bearer secret-part", "X-Plain": "as it is" },
    });
    expect(servers[0]?.secrets).toEqual(["secret-part"]);
  });

  it("asks before every call of an unsafe tool, unless a rule for all tools or for this one says otherwise", async () => {
    const rules = { "*": { effect: "idempotent" }, look: { effect: "pure", approval: "allow" } };
    const { servers } = await read({ plain: { command: "a" }, ruled: { command: "a", rules } });
    expect(servers[0]?.ruleOf("any")).toEqual({ effect: "unsafe", approval: "ask" });
    expect(servers[0]?.ruleOf("constructor")).toEqual({ effect: "unsafe", approval: "ask" });
    expect(servers[1]?.ruleOf("any")).toEqual({ effect: "idempotent", approval: "ask" });
    expect(servers[1]?.ruleOf("look")).toEqual({ effect: "pure", approval: "allow" });
  });

  it("does not even look at a server that is switched off", async () => {
    expect(await read({ off: { enabled: false, nonsense: true } })).toEqual({ servers: [], problems: [] });
  });

  it.each([
    ["values in env", "good", { command: "a", env: { TOKEN: "secret-part" } }, "their values stay in the environment"],
    ["a variable that is not set", "good", { command: "a", env: ["ABSENT"] }, "ABSENT is not set"],
    ["a header that names none", "good", { url: "http://a", headers: { a: "${ABSENT}" } }, "ABSENT is not set"],
    ["no command and no url", "good", {}, "command"],
    ["another protocol", "good", { url: "ftp://a" }, "url"],
    ["an unknown key", "good", { command: "a", alwaysAllow: ["all"] }, "alwaysAllow"],
    ["an unknown effect", "good", { command: "a", rules: { "*": { effect: "harmless" } } }, "rules.*.effect"],
    ["two underscores in its name", "a__b", { command: "a" }, "its name must be"],
    ["no time at all", "good", { command: "a", timeout_seconds: 0 }, "timeout_seconds"],
  ])("with %s does without that server, says why, and uses the others", async (_, name, server, words) => {
    const { servers, problems } = await read({ [name]: server, fine: { command: "b" } });
    expect(servers.map((found) => found.name)).toEqual(["fine"]);
    expect(problems).toEqual([{ server: name, message: expect.stringContaining(words) }]);
    expect(JSON.stringify(problems)).not.toContain("secret-part");
  });

  it.each([
    ["no JSON", "{", "cannot be read"],
    ["another form", '{"servers":{}}', "is wrong"],
    ["a list", "[]", "is wrong"],
  ])("that holds %s is refused by name", async (_, text, words) => {
    const file = await put(text);
    expect(() => readMcpConfig(file, variable)).toThrow(words);
    expect(() => readMcpConfig(file, variable)).toThrow(file);
  });
});

describe("the sources of the configured file", () => {
  const open = (mcpFile: string, mcpFileIsDefault = false) => {
    const logged: { message: string; file?: string; server?: string }[] = [];
    // Only the two-argument form of a pino method is used.
    const log = ((what: object, message: string) => logged.push({ message, ...what })) as never;
    const settings = { mcpFile, mcpFileIsDefault };
    const logger = { warn: log, error: log };
    const servers = openMcpServers(settings, join(folder, "workspace"), logger, { readVariable: variable });
    return { listed: servers.list().map(({ name, problem, state }) => ({ name, problem, now: state?.now })), logged };
  };

  it("are none where there is no file, unless the operator has named it", () => {
    expect(open(join(folder, "absent.json"), true)).toEqual({ listed: [], logged: [] });
    expect(() => open(join(folder, "absent.json"))).toThrow("absent.json is not there");
  });

  it("are none where the file is broken, and the log names the file", async () => {
    const file = await put("{");
    expect(open(file)).toMatchObject({ listed: [], logged: [{ message: "mcp_file_not_used", file }] });
  });

  it("leave out what is wrong, and the log names the server", async () => {
    const file = await put(JSON.stringify({ mcpServers: { fine: { command: "a" }, bad: {} } }));
    const { listed, logged } = open(file);
    expect(listed).toEqual([
      { name: "bad", problem: expect.stringContaining("command"), now: undefined },
      { name: "fine", problem: null, now: "idle" },
    ]);
    expect(logged).toMatchObject([{ message: "mcp_server_not_used", server: "bad", file }]);
  });

  it.each(["mcp.json", "..mcp.json"])("are refused where tools could write %s, also by way of a link", async (name) => {
    const file = await put('{"mcpServers":{}}', `workspace/${name}`);
    await symlink(file, join(folder, `link-${name}`));
    expect(() => open(file)).toThrow("inside the workspace");
    expect(() => open(join(folder, `link-${name}`))).toThrow("inside the workspace");
  });
});
