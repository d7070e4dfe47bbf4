import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../support/source-files.ts";
import { axeFindings, chromiumPath, leave, openStage, type Stage, type Tab } from "./console-page.ts";

const fixtures = join(projectFolder, "tests/fixtures/graphs");
const bearer = { authorization: "Bearer token-of-ada" };

describe.skipIf(chromiumPath === undefined)("the console of a server with rules of its own", () => {
  let stage: Stage;
  let tab: Tab;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-sign-in-"));
    const path = join(folder, "langgraph.json");
    const graphs = { asking: join(fixtures, "asking.ts:graph") };
    writeFileSync(path, JSON.stringify({ graphs, auth: { path: join(fixtures, "auth.ts:auth") } }));
    stage = await openStage(() => ({ text: "ok" }), { graphs: path });
  });
  afterAll(async () => {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => leave(tab));

  const signIn = async (key: string): Promise<void> => {
    await tab.page.getByLabel("Key", { exact: true }).fill(key);
    await tab.page.keyboard.press("Enter");
  };
  const problem = () => tab.page.getByRole("alert").textContent();

  it("says what is wrong with a key, in the words of the server", async () => {
    tab = await stage.open();
    await signIn("nobody's");
    await expect.poll(problem).toBe("The server does not accept this key. Who are you?");
    expect(await axeFindings(tab)).toEqual([]);
    await signIn("schlüssel");
    await expect.poll(problem).toContain("A key has only ASCII letters");
    await tab.page.route("**/me", (route) =>
      route.fulfill({ status: 403, contentType: "application/json", body: '{"message":"Not at this hour."}' }),
    );
    await signIn("token-of-ada");
    await expect.poll(problem).toBe("Not at this hour.");
    await tab.page.unroute("**/me");
    await tab.page.route("**/me", (route) => route.abort());
    await signIn("token-of-ada");
    await expect.poll(problem).toContain("The server cannot be reached");
    await tab.page.unroute("**/me");
    await signIn("token-of-ada");
    await tab.page.getByRole("heading", { name: "What shall we do?" }).waitFor();
  });

  it("sends a key as the bearer token that the rules want, also over sockets and after a reload", async () => {
    tab = await stage.open();
    const sent: (string | undefined)[] = [];
    const sockets: string[] = [];
    tab.page.on("websocket", (socket) => sockets.push(new URL(socket.url()).pathname));
    await signIn("token-of-ada");
    await tab.page.getByText("No chats yet").waitFor();
    tab.page.on("request", async (request) => {
      if (new URL(request.url()).pathname === "/me") sent.push((await request.allHeaders())["authorization"]);
    });
    // What happens elsewhere is received over the socket.
    await expect.poll(() => sockets).toContain("/feed");
    await expect
      .poll(async () => {
        await stage.server.send("POST", "/threads", { metadata: { name: "From a script" } }, bearer);
        return tab.page.locator(".thread-link", { hasText: "From a script" }).count();
      })
      .toBeGreaterThan(0);
    await tab.page.reload();
    await tab.page.locator(".thread-link").first().waitFor();
    await expect.poll(() => sent).toEqual(["Bearer token-of-ada"]);
    expect(await tab.page.locator(".rail-connection").textContent()).toBe("");
  });

  it("asks for the key again when the one that it kept is not known any more, and when it is refused without one", async () => {
    tab = await stage.open();
    await tab.page.evaluate("sessionStorage.setItem('millrace.key', 'the key of yesterday')");
    await tab.page.reload();
    await tab.page.getByText("Your key is no longer valid.").waitFor();
    await tab.page.evaluate("sessionStorage.clear()");
    await tab.page.route("**/me", (route) =>
      route.fulfill({ status: 403, contentType: "text/plain", body: "Members only." }),
    );
    await tab.page.reload();
    await tab.page.getByRole("heading", { name: "Sign in" }).waitFor();
    await expect.poll(problem).toBe("Members only.");
  });
});

const Toolkits = z.array(z.object({ is_enabled: z.boolean(), tools: z.array(z.string()) }));

describe.skipIf(chromiumPath === undefined)("the tools of a key that may not use all of them", () => {
  let stage: Stage;
  let tab: Tab;
  beforeAll(async () => {
    const apiKeys = [{ owner: "guest", key: "key-of-guest" }];
    stage = await openStage(() => ({ text: "ok" }), { apiKeys, ownerTools: { guest: ["read_file"] } });
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("are listed with those that are blocked, each with the rule that says so", async () => {
    const headers = { "x-api-key": "key-of-guest" };
    const answer = await stage.server.send("GET", "/toolkits", undefined, headers);
    const off = Toolkits.parse(await answer.json()).find(({ is_enabled, tools }) => !is_enabled && tools.length > 0);
    tab = await stage.open({ path: "/tools" });
    const { page } = tab;
    await page.getByLabel("Key", { exact: true }).fill("key-of-guest");
    await page.keyboard.press("Enter");
    const blocked = page.getByRole("region", { name: "Blocked" });
    await blocked.getByRole("button", { name: "delete_file", exact: true }).click();
    const shown = page.locator(".shaping-one");
    await shown.getByText("Blocked").waitFor();
    await shown.getByText("MILLRACE_OWNER_TOOLS").waitFor();
    expect(await blocked.getByRole("button", { name: "read_file", exact: true }).count()).toBe(0);
    expect(await axeFindings(tab)).toEqual([]);
    await page.getByRole("button", { name: "read_file", exact: true }).click();
    await shown.getByRole("heading", { name: "read_file" }).waitFor();
    if (off === undefined) return;
    await page.evaluate(`history.pushState(null, "", "/console/tools/${off.tools[0]}")`);
    await shown.getByText("MILLRACE_TOOLKITS").waitFor();
  });
});
