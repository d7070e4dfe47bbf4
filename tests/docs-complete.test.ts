import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { variableNames } from "@millrace/engine/config/config";
import { filesBelow, projectFolder } from "./support/source-files.ts";
import { startTestServer, type TestServer } from "./support/test-server.ts";

const pages = ["README.md", ...filesBelow("docs", ".md")]
  .filter((path) => !/^docs\/(decisions\/|requirements\.md)/u.test(path))
  .map((path) => ({ path, text: readFileSync(join(projectFolder, path), "utf8").replaceAll(/\s+/gu, " ") }));
const page = (path: string): string => pages.find((one) => one.path === path)?.text ?? "";

let server: TestServer;
let routes: { method: string; path: string }[];
let contextKeys: string[];
beforeAll(async () => {
  // With every optional route, and with the assistant of the project.
  server = await startTestServer({ allowTruncate: true, graphs: join(projectFolder, "langgraph.json") });
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
    .parse(await (await server.send("GET", "/openapi.json")).json());
  routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => ({ method: method.toUpperCase(), path: plain(path) })),
  );
  const { context_schema } = z
    .object({ context_schema: z.object({ properties: z.record(z.string(), z.unknown()) }) })
    .parse(await (await server.send("GET", "/assistants/agent/schemas")).json());
  contextKeys = Object.keys(context_schema.properties);
});
afterAll(() => server.remove());

/** After a toolkit is deleted, pages may still name its routes and keys. */
const isToolkitDeleted = filesBelow("docs/toolkits", ".md")
  .map((path) => basename(path, ".md"))
  .some((name) => !existsSync(join(projectFolder, "toolkits", name)));

/** A path with all its parameters called `:x`, as pages and code give them several names. */
function plain(path: string): string {
  return path.replaceAll(/:\w+|\{\w+\}/gu, ":x");
}

/** The paths that a text names. One that begins with `…` continues the path before it, or a beginning of that. */
function pathsIn(text: string): string[] {
  let last = "";
  return [...text.matchAll(/…\/[\w.:{}/-]+|(?<![\w.)])\/[\w.:{}/-]+/gu)].flatMap(([match]) => {
    const path = plain(match).replace(/[.:/]+$/u, "");
    if (!path.startsWith("…")) {
      last = path;
      return [path];
    }
    const segments = last.split("/");
    return segments.map((_, index) => `${segments.slice(0, index + 1).join("/")}${path.slice(1)}`);
  });
}

describe("the pages", () => {
  it("name every route", () => {
    const named = new Set(pages.flatMap(({ text }) => pathsIn(text)));
    const missing = routes.filter(({ path }) => path !== "/" && !named.has(path));
    expect(routes.length).toBeGreaterThan(200);
    expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  it.skipIf(isToolkitDeleted)("name no route that does not exist", () => {
    const named = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/[\w.:{}/-]+)/gu)].map(([, method = "", route = ""]) => ({
        page: path,
        method,
        route: plain(route).replace(/[.:/]+$/u, ""),
      })),
    );
    const known = routes.map(({ method, path }) => ({
      method,
      // A page may give a parameter its value, as in `GET /assistants/agent/schemas`.
      pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(":x", "[^/]+")}$`, "u"),
    }));
    const wrong = named.filter(
      ({ method, route }) => !known.some((one) => one.method === method && one.pattern.test(route)),
    );
    expect(named.length).toBeGreaterThan(150);
    expect(wrong.map(({ page: path, method, route }) => `${path}: ${method} ${route}`)).toEqual([]);
  });

  it("list every key of a run's context, and no other", () => {
    const table = page("docs/assistant/assistant.md").split("## What a run may choose")[1]?.split(" ## ")[0] ?? "";
    // The keys are the first cell of each row.
    const listed = [...table.matchAll(/\| ((?:`\w+`(?:, )?)+) \|/gu)].flatMap(([, keys = ""]) =>
      [...keys.matchAll(/\w+/gu)].map(([key]) => key),
    );
    expect(contextKeys.filter((key) => !listed.includes(key))).toEqual([]);
    if (!isToolkitDeleted) expect(listed.filter((key) => !contextKeys.includes(key))).toEqual([]);
  });

  it("list every setting, and name none that does not exist", () => {
    const settings = page("docs/operate/configuration.md");
    expect(variableNames.filter((name) => !settings.includes(`\`${name}\``))).toEqual([]);
    // Those of the command and of the console's development server are no settings of a server.
    const known = new Set([...variableNames, "MILLRACE_API_KEY", "MILLRACE_URL"]);
    const named = pages.flatMap(({ text }) => text.match(/\b(?:MILLRACE|CONVERSATION)_[A-Z_]+\b/gu) ?? []);
    const unknown = named.filter(
      (name) => !known.has(name.replace(/_FILE$/u, "")) && !name.startsWith("MILLRACE_TEST_"),
    );
    expect([...new Set(unknown)]).toEqual([]);
  });
});
