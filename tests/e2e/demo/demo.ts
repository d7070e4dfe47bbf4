import { glob } from "node:fs/promises";
import { join } from "node:path";
import { projectFolder } from "../../support/source-files.ts";
import { main } from "./demo-main.ts";
import { showDemo, type Demo } from "./demo-session.ts";

/**
 * `npm run demo`: a server, its official client, and the main job on real files. `npm run demo -- <name>`: a session of one
 * toolkit, on the files of samples/. `zh` after it shows it in Chinese. The first step that does not happen ends the demo with exit code 1.
 */

/** A new one is a file and a line here, or `toolkits/<name>/tests/demo.ts` with `demos` by their names. */
const demos: Record<string, Demo> = { main };
const ofToolkits = await Array.fromAsync(glob("toolkits/*/tests/demo.ts", { cwd: projectFolder }));
for (const file of ofToolkits.toSorted()) {
  // Such a file exports `demos`.
  const module = (await import(join(projectFolder, file))) as { demos: Record<string, Demo> };
  Object.assign(demos, module.demos);
}

const given = process.argv.slice(2);
const isChinese = given.at(-1) === "zh";
const [name = "main", ...more] = isChinese ? given.slice(0, -1) : given;
const demo = Object.hasOwn(demos, name) ? demos[name] : undefined;
if (demo === undefined || more.length > 0) {
  console.error(`There is no demo "${[name, ...more].join(" ")}". There are: ${Object.keys(demos).join(", ")}.`);
  process.exitCode = 1;
} else {
  await showDemo(demo, isChinese ? "zh" : "en");
}
