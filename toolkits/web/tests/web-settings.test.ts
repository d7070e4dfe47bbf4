import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startSessions, type SessionFixture } from "../../../tests/support/session-fixture.ts";

const Settings = z.object({
  settings: z.array(z.object({ name: z.string(), value: z.json(), source: z.string(), change: z.string().nullable() })),
});
const key = "a-very-long-secret-of-bing-7f3a";
let server: SessionFixture;
afterEach(() => server.close());

async function start(env: Record<string, string> = {}): Promise<void> {
  const { given, web } = loadConfig(env);
  server = await startSessions({ given, web });
}

async function settingOf(name: string): Promise<object | undefined> {
  const { settings } = Settings.parse(await server.json("GET", "/settings"));
  return settings.find((setting) => setting.name === name);
}

it("who searches the web can be changed while the server runs", async () => {
  await start();
  expect(await server.json("GET", "/web-search")).toMatchObject({ engine: null, opens_pages: false });
  await server.json("PATCH", "/settings", { SEARXNG_URL: "http://127.0.0.1:9" });
  expect(await server.json("GET", "/web-search")).toMatchObject({ engine: "searxng", opens_pages: true });
  await server.json("PATCH", "/settings", { MILLRACE_WEB_FETCH: "off" });
  expect(await server.json("GET", "/web-search")).toMatchObject({ engine: "searxng", opens_pages: false });
  await server.json("PATCH", "/settings", { SEARXNG_URL: null });
  expect(await server.json("GET", "/web-search")).toMatchObject({ engine: null });
});

it("a key is a setting that another request changes", async () => {
  await start({ BING_SEARCH_API_KEY: key });
  const change = "PUT /web-search/bing/key";
  expect(await settingOf("BING_SEARCH_API_KEY")).toMatchObject({ value: "…7f3a", source: "environment", change });
  const refused = await server.server.send("PATCH", "/settings", { BING_SEARCH_API_KEY: "secret" });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(change)]);
  await server.json("PUT", "/web-search/bing/key", { key: "another-long-secret-of-bing-1c2d" });
  expect(await settingOf("BING_SEARCH_API_KEY")).toMatchObject({ value: "…1c2d", source: "changed", change });
});
