import { circuitDesign } from "./demo-circuit.ts";
import { code } from "./demo-code.ts";
import { documents } from "./demo-documents.ts";
import { main } from "./demo-main.ts";
import { planner } from "./demo-planner.ts";
import { showDemo, type Demo } from "./demo-session.ts";

/**
 * `npm run demo`: a server, its official client, and the main job on real files. `npm run demo -- <name>`: a session of one
 * toolkit, on the files of samples/. The first step that does not happen ends the demo with exit code 1.
 */

/** A new one is a file and a line here. */
const demos: Record<string, Demo> = { main, code, circuit: circuitDesign, documents, planner };

const [name = "main", ...more] = process.argv.slice(2);
const demo = Object.hasOwn(demos, name) ? demos[name] : undefined;
if (demo === undefined || more.length > 0) {
  console.error(`There is no demo "${[name, ...more].join(" ")}". There are: ${Object.keys(demos).join(", ")}.`);
  process.exitCode = 1;
} else {
  await showDemo(demo);
}
