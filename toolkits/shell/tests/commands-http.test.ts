import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    toolkits: ["default", "shell"],
    sandbox: "off",
  });
});
afterAll(() => server.remove());

/** What of an answer these tests read. */
interface Answer {
  question?: string;
  approved_hash?: string;
  has_changed?: boolean;
  result?: { success: boolean; content: string; errorType?: string; message: string };
}

async function run(command: string, approved?: string, language = "en"): Promise<{ status: number } & Answer> {
  const thread = (await server.client.threads.create()).thread_id;
  const body = { args: { command, requires_approval: false }, ...(approved && { approved_hash: approved }) };
  const path = `/threads/${thread}/tools/execute_command/run`;
  const answer = await server.send("POST", path, body, { "accept-language": language });
  return { status: answer.status, ...((await answer.json()) as Answer) };
}

it("shows a person the whole command, how it runs and which files it takes, and runs exactly that (S10)", async () => {
  const script = join(server.config.workspace, "build.sh");
  await writeFile(script, "echo one\n");
  const command = "sh build.sh | cat";
  const asked = await run(command);
  expect(asked.status).toBe(409);
  expect(asked.question).toMatch(
    /run the command sh build\.sh \| cat in the workspace; through a shell, .*"\|"; without a sandbox/u,
  );
  expect(asked.question).toMatch(/cannot be undone here; files that it names: build\.sh \(sha256 [0-9a-f]{16}\)/u);
  expect((await run(command, undefined, "zh")).question).toContain(
    "在工作区运行命令 sh build.sh | cat；经由 shell 运行",
  );

  await writeFile(script, "echo two\n");
  const changed = await run(command, asked.approved_hash);
  expect(changed).toMatchObject({ status: 409, has_changed: true });
  const ran = await run(command, changed.approved_hash);
  expect(ran).toMatchObject({ status: 200, result: { success: true, content: "Exit code 0.\ntwo" } });
  expect((await run("sh build.sh", changed.approved_hash)).status).toBe(409);
});

it("refuses a harmful command without asking", async () => {
  const { status, result } = await run("sudo touch made");
  expect(status).toBe(200);
  expect(result).toMatchObject({ success: false, errorType: "blocked" });
  expect(JSON.stringify(result)).toContain("sudo takes the rights of another user");
});

it("has no commands on a server whose operator has not asked for them", async () => {
  const usual = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
  try {
    const listed = (await (await usual.send("GET", "/tools")).json()) as { name: string }[];
    expect(listed.map(({ name }) => name)).not.toContain("execute_command");
    expect(listed.map(({ name }) => name)).toContain("replace_in_file");
  } finally {
    await usual.remove();
  }
});

it("ends what runs in the background of a thread with the thread", async () => {
  const thread = (await server.client.threads.create()).thread_id;
  const place = (name: string): string => join(server.config.workspace, name);
  const script = "trap 'echo gone > gone.txt; exit' TERM\necho here > here.txt\nwhile true; do sleep 0.02; done\n";
  await writeFile(place("wait.sh"), script);
  const args = { command: "sh wait.sh", requires_approval: true, background: true };
  const path = `/threads/${thread}/tools/execute_command/run`;
  const asked = (await (await server.send("POST", path, { args })).json()) as Answer;
  const begun = await server.send("POST", path, { args, approved_hash: asked.approved_hash });
  expect(await begun.json()).toMatchObject({ result: { success: true } });
  const isThere = (name: string): Promise<boolean> =>
    access(place(name)).then(
      () => true,
      () => false,
    );
  while (!(await isThere("here.txt"))) await new Promise((resolve) => setImmediate(resolve));
  await server.client.threads.delete(thread);
  // Another server ends it once it has been notified.
  await expect.poll(() => readFile(place("gone.txt"), "utf8").catch(() => "")).toBe("gone\n");
});
