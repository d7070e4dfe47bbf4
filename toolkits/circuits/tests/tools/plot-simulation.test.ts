import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { plotPng } from "../../simulation/plot/plot-png.ts";
import { plotSvg } from "../../simulation/plot/plot-svg.ts";
import { strokeFont } from "../../simulation/plot/stroke-font.ts";
import { strokedTexts } from "../../simulation/plot/stroke-text.ts";
import { plotSimulation } from "../../tools/plot-simulation.ts";
import { runSimulation } from "../../tools/run-simulation.ts";
import { readPng } from "../simulation/png-pixels.ts";
import { projectFolder } from "../../../../tests/support/source-files.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => await workspace[Symbol.asyncDispose]());

const pointsOf = (svg: string): [number, number][][] =>
  [...svg.matchAll(/<polyline points="([^"]+)"/gu)].map(([, points = ""]) =>
    points.split(" ").map((point) => {
      const [x = Number.NaN, y = Number.NaN] = point.split(",").map(Number);
      return [x, y];
    }),
  );

describe("plot_simulation", () => {
  it("draws gain and phase of the last result, each in a panel of its own", async () => {
    const circuit = await readFile(join(projectFolder, "samples/circuits/rc-low-pass.cir"), "utf8");
    await workspace.fill({ "rc.cir": circuit });
    await workspace.call(runSimulation, { circuit: "rc.cir" });
    const result = await workspace.call(plotSimulation, { circuit: "rc.cir", analysis: "ac", signals: ["out"] });
    expect(result).toMatchObject({ success: true, data: { path: "rc_ac.svg", signals: ["v(out) dB", "v(out) deg"] } });
    const svg = await readFile(join(workspace.root, "rc_ac.svg"), "utf8");
    const [gain = [], phase = []] = pointsOf(svg);
    expect(gain.length).toBe(phase.length);
    expect(gain.length).toBeGreaterThan(200);
    // Falling gain: further down the picture with each point; from the left edge to the right one.
    expect(gain.every(([, y], index) => index === 0 || y >= (gain[index - 1]?.[1] ?? 0))).toBe(true);
    expect([gain[0]?.[0], gain.at(-1)?.[0]]).toEqual([78, 780]);
    expect(svg).toContain(">100k<");
    expect(svg).toContain("frequency, Hz");
  });

  it("draws it as PNG too, in the size of the SVG, with its curves and its texts", async () => {
    const rows = { "v(a)": [0, 1, 0.5], "v(b)": [1, 0, 0.2] };
    const waveform = { analysis: ".tran 1 2", scale: "time", points: 3, x: [0, 0.5, 1], rows };
    await workspace.fill({ "rc_sim.json": JSON.stringify({ waveforms: [waveform] }) });
    const result = await workspace.call(plotSimulation, { circuit: "rc.cir", analysis: "tran", format: "png" });
    expect(result).toMatchObject({ success: true, data: { path: "rc_tran.png", signals: ["v(a)", "v(b)"] } });
    const png = readPng(await readFile(join(workspace.root, "rc_tran.png")));
    const svg = plotSvg(waveform, ["v(a)", "v(b)"], "rc.cir");
    expect(svg).toContain(`width="${png.width}" height="${png.height}"`);
    for (const colour of ["#1f77b4", "#d62728"]) expect(png.count(colour), colour).toBeGreaterThan(300);
    expect(png.count("#ffffff")).toBeGreaterThan(0.8 * png.width * png.height);
    // Nothing else in it is black: these are the words.
    expect(png.count("#000000")).toBeGreaterThan(20);
  });

  it("stops drawing when the signal aborts", async () => {
    const stop = new AbortController();
    const drawn = plotPng(plotSvg({ analysis: ".op", scale: "x", points: 0, x: [], rows: {} }, [], "t"), stop.signal);
    stop.abort(new Error("enough"));
    await expect(drawn).rejects.toThrow("enough");
    await expect(plotPng("<svg/>", stop.signal)).rejects.toThrow("enough");
  });

  it("says so when there is nothing that could be drawn as PNG", async () => {
    const never = new AbortController().signal;
    await expect(plotPng("no picture", never)).rejects.toMatchObject({ code: "execution_failed" });
  });

  it.each([
    ["without a result", {}, { circuit: "rc.cir" }, "not_found"],
    ["with a result that is none", { "rc_sim.json": "[]" }, { circuit: "rc.cir" }, "invalid_format"],
    ["with a result that is no JSON", { "rc_sim.json": "{" }, { circuit: "rc.cir" }, "invalid_format"],
    [
      "without that signal",
      {
        "rc_sim.json": JSON.stringify({
          waveforms: [{ analysis: ".tran 1 2", scale: "time", points: 2, x: [0, 1], rows: { "v(a)": [0, 1] } }],
        }),
      },
      { circuit: "rc.cir", signals: ["v(b)"] },
      "not_found",
    ],
  ])("says what is missing %s", async (_, files, input, code) => {
    await workspace.fill(files);
    expect(await workspace.call(plotSimulation, input)).toMatchObject({ success: false, errorType: code });
  });
});

describe("a text of lines", () => {
  it("has strokes for every sign that a picture of a circuit usually has, and a box for any other", () => {
    const usual = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;-+=*/()[]_<>%#µ√";
    for (const sign of Array.from(usual)) {
      expect(strokeFont.get(sign), sign).toMatch(/^[0-4][0-8](?: [0-4][0-8])+(?:,[0-4][0-8](?: [0-4][0-8])+)*$/u);
    }
    const drawn = new Set(Array.from(usual).map((sign) => strokeFont.get(sign)));
    expect(drawn.size).toBe(usual.length);
    expect(strokeFont.has("放")).toBe(false);
    expect(strokedTexts('<text x="10" y="20">放</text>')).toContain('d="M10.00 11.36L');
  });

  it("begins, lies in the middle or ends where the text did, and turns as it did", () => {
    const begin = (attributes: string): number =>
      Number(/M([\d.-]+)/u.exec(strokedTexts(`<text x="100" y="50" ${attributes}>EE</text>`))?.[1]);
    expect([begin(""), begin('text-anchor="middle"'), begin('text-anchor="end"')]).toEqual([104.8, 98.8, 92.8]);
    const turned = strokedTexts('<text x="1" y="2" transform="rotate(-90 1 2)" fill="#fff">&lt;</text>');
    expect(turned).toMatch(/^<path d="M[^"]+" fill="none" stroke="#fff" [^>]*transform="rotate\(-90 1 2\)"\/>$/u);
  });
});

describe("a picture", () => {
  const wave = { analysis: ".tran 1 2", scale: "time", points: 3, x: [0, 0.5, 1] };

  it("holds no markup of the names in it", () => {
    const name = 'v(<script>alert("1")</script>)';
    const svg = plotSvg({ ...wave, rows: { [name]: [0, 1, 2] } }, [name], "<b>&\u0000");
    expect(svg.replaceAll("\n", "")).not.toMatch(/<script|<b>|\p{Cc}/u);
    expect(svg).toContain("&lt;script&gt;");
  });

  it.each([
    ["a constant", [3, 3, 3]],
    ["nothing but zeros", [0, 0, 0]],
    ["values that are no numbers", [Number.NaN, 1, Infinity]],
    ["very large and very small values", [1e300, -1e300, 1e-300]],
  ])("can be drawn of %s", (_, values) => {
    const svg = plotSvg({ ...wave, rows: { "v(a)": values } }, ["v(a)"], "t");
    expect(pointsOf(svg)[0]).toHaveLength(3);
    expect(svg.length).toBeLessThan(10_000);
  });
});
