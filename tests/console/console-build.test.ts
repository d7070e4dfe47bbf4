import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { removeOldBuilds } from "../../console/old-builds.ts";
import { openConsoleBuild } from "../../src/http/console/console-build.ts";
import { consoleRoutes } from "../../src/http/console/console-routes.ts";
import { sizesOf } from "./bench/build-sizes.ts";

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), "millrace-console-build-"))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text = ""): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), text);
}

const stateOf = async () => await openConsoleBuild(createLogger("silent"), root).state();

describe("the console of a copy that cannot build it", () => {
  it.each([
    ["without its sources", []],
    ["without the packages that build it", ["console/build.ts", "package-lock.json"]],
  ])("is what was built before, %s", async (_, sources) => {
    for (const path of [...sources, "dist/console/release/index.html"]) write(path);
    expect(await stateOf()).toEqual({ status: "ready", folder: join(root, "dist/console/release") });
  });

  it("is not there where nothing was built, and says what to do", async () => {
    write("console/build.ts");
    expect(await stateOf()).toMatchObject({ status: "failed", suggestion: expect.stringContaining("npm ci") });
  });
});

it("removes old builds beside a new one, and nothing else", async () => {
  const old = new Date(Date.now() - 3 * 86_400_000);
  const names = ["0123456789abcdef", "fedcba9876543210.77", "aaaaaaaaaaaaaaaa", "photos", "release"];
  for (const name of names) write(`dist/${name}/index.html`);
  for (const name of names) if (!name.startsWith("a")) utimesSync(join(root, "dist", name), old, old);
  await removeOldBuilds(join(root, "dist/bbbbbbbbbbbbbbbb"));
  expect(readdirSync(join(root, "dist"))).toEqual(["aaaaaaaaaaaaaaaa", "photos", "release"]);
});

it("lets its pages run and load its own files and nothing else, whatever is asked for (SEC-06)", async () => {
  write("dist/console/release/index.html", "<p>The page</p>");
  write("dist/console/release/assets/a.js", "1");
  const routes = consoleRoutes(openConsoleBuild(createLogger("silent"), root));
  for (const path of ["", "t/some-thread", "assets/a.js", "assets/none.js"]) {
    const { headers } = await routes.request(`/console/${path}`);
    const policy = (headers.get("content-security-policy") ?? "").split("; ");
    expect(policy, path).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ]),
    );
    expect(policy.join(), path).not.toMatch(/unsafe|\*|https?:/u);
    expect(headers.get("x-content-type-options"), path).toBe("nosniff");
  }
});

it("loads few scripts and sheets at first, and what is opened later comes later, in small parts", async () => {
  const build = openConsoleBuild(createLogger("silent"));
  await expect.poll(() => build.state(), { timeout: 180_000 }).toMatchObject({ status: "ready" });
  const state = await build.state();
  const sizes = await sizesOf(state.status === "ready" ? state.folder : "");
  for (const { measure, value, max } of sizes) {
    expect(value, `${measure}, kB`).toBeGreaterThan(max / 10);
    expect(value, `${measure}, kB`).toBeLessThanOrEqual(max);
  }
}, 240_000);

describe("a build of the console that fails", () => {
  const failing = 'console.error("this file is broken"); process.exitCode = 1;';
  const working = `
    import { mkdirSync, writeFileSync } from "node:fs";
    mkdirSync(process.argv[2], { recursive: true });
    writeFileSync(process.argv[2] + "/index.html", "");
  `;
  /** A build of which each beginning is counted. */
  const counting = (text: string): string =>
    `import { appendFileSync } from "node:fs"; appendFileSync(${JSON.stringify(join(root, "builds"))}, "x"); ${text}`;
  const builds = (): number => readFileSync(join(root, "builds"), "utf8").length;

  beforeEach(() => {
    write("package-lock.json");
    write("node_modules/vite/package.json", '{ "name": "vite", "main": "index.js" }');
    write("node_modules/vite/index.js");
    write("console/build.ts", counting(failing));
  });

  it("says what failed, and is tried again when it is asked for after a change", async () => {
    const build = openConsoleBuild(createLogger("silent"), root);
    const failed = { status: "failed", reason: "this file is broken", suggestion: expect.stringContaining("again") };
    await expect.poll(() => build.state()).toEqual(failed);
    expect(await build.state()).toEqual(failed);
    expect(builds()).toBe(1);
    write("console/build.ts", counting(working));
    expect(await build.state()).toEqual({ status: "building" });
    await expect.poll(() => build.state()).toMatchObject({ status: "ready" });
    expect(builds()).toBe(2);
  });

  it("has a page meanwhile in the reader's language, which goes on by itself and whose style its policy allows", async () => {
    const routes = consoleRoutes({ state: async () => ({ status: "building" }) });
    const page = await routes.request("/console/", { headers: { "accept-language": "zh-CN" } });
    expect([page.status, page.headers.get("refresh"), page.headers.get("retry-after")]).toEqual([503, "1", "1"]);
    const html = await page.text();
    expect(html).toContain("几秒钟");
    expect(await (await routes.request("/console/")).text()).toContain("a few seconds");
    const [, style = ""] = /<style>(.*)<\/style>/su.exec(html) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(page.headers.get("content-security-policy")).toContain(`style-src 'sha256-${hash}'`);
  });

  it("names on its page what failed and what to do", async () => {
    const build = openConsoleBuild(createLogger("silent"), root);
    await expect.poll(async () => (await build.state()).status).toBe("failed");
    const page = await consoleRoutes(build).request("/console/");
    expect(page.status).toBe(503);
    expect(await page.text()).toMatch(/could not be built.*this file is broken.*load this page again/su);
  });
});
