import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { plotPng } from "../simulation/plot/plot-png.ts";
import { plotSvg } from "../simulation/plot/plot-svg.ts";
import { Waveform } from "../simulation/waveforms.ts";
import { reading, writing } from "../../../src/tools/workspace/file-checks.ts";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import { besideCircuit, circuitFiles, readText } from "./deck-file.ts";
import { writeOperation, writeText } from "./write-text.ts";

const analyses = ["ac", "tran", "dc", "noise"] as const;
/** Series drawn by default: an output and an input. */
const defaultRows = 4;

const Input = z.object({
  circuit: z.string().describe("path of the SPICE file, which was simulated before"),
  analysis: z.enum(analyses).optional().describe("which analysis is drawn; default the first that has a curve"),
  signals: z
    .array(z.string().max(100))
    .max(6)
    .optional()
    .describe('what is drawn, such as ["v(out)", "i(vdd)"]; default the output and the input'),
  format: z.enum(["svg", "png"]).optional().describe("what the file is; default svg"),
});
type Input = z.infer<typeof Input>;

const Result = z.looseObject({ waveforms: z.array(Waveform) });

/** Draws a simulation's result as an SVG or PNG file next to the circuit. */
export const plotSimulation = defineTool({
  name: "plot_simulation",
  description:
    "Draws the last result of run_simulation as a picture (SVG, or PNG) beside the circuit: gain and phase over frequency, or signals over " +
    "time or over what was swept.",
  schema: Input,
  files: circuitFiles,
  effect: "idempotent",
  timeoutSeconds: 30,
  resources: (input, { workspace }) => [
    reading(workspace, besideCircuit(input.circuit, "_sim.json")),
    writing(workspace, pictureOf(input)),
  ],
  kinds: ["Create", "SimpleModify", "ModifyCriticalFile"],
  operation: (input, context) => writeOperation(context, pictureOf(input)),
  touches: (input) => ({ kind: "write", path: pictureOf(input), lastLink: "follow" }),
  run: (input, context) => draw(input, context),
  example: { title: "Gain and phase", body: '{"circuit": "amp.cir", "analysis": "ac", "signals": ["v(out)"]}' },
});

function pictureOf({ circuit, analysis, format = "svg" }: Input): string {
  return besideCircuit(circuit, `_${analysis ?? "plot"}.${format}`);
}

async function draw(input: Input, context: ToolContext): Promise<ToolResult> {
  const { circuit, analysis, signals, format } = input;
  const source = besideCircuit(circuit, "_sim.json");
  const { waveforms } = readResult(await readText(context, source), source);
  const waveform = waveforms.find((one) => typeOf(one) === analysis || (analysis === undefined && one.x.length > 1));
  if (waveform === undefined) {
    throw new AppError(
      "not_found",
      `"${source}" holds no curve${analysis === undefined ? "" : ` of the analysis ${analysis}`}.`,
      {
        suggestion: "Run the simulation with that analysis first.",
      },
    );
  }
  const known = Object.keys(waveform.rows);
  const names =
    signals === undefined ? known.slice(0, defaultRows) : signals.flatMap((signal) => rowsOf(signal, known));
  if (names.length === 0) {
    throw new AppError("not_found", `None of the signals is in "${source}".`, {
      suggestion: `It has: ${known.join(", ")}.`,
    });
  }
  const svg = plotSvg(waveform, names, circuit);
  const picture = format === "png" ? await plotPng(svg, context.signal) : svg;
  const path = await writeText(context, pictureOf(input), picture);
  return success(`Drew ${names.join(", ")} to ${path}.`, {
    data: { path, signals: names },
    message_zh: `已将 ${names.join("、")} 绘制到 ${path}。`,
  });
}

function readResult(text: string, path: string): z.infer<typeof Result> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new AppError("invalid_format", `"${path}" is not JSON.`, {
      cause: error,
      suggestion: "Run the simulation again.",
    });
  }
  const parsed = Result.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new AppError("invalid_format", `"${path}" is no result of run_simulation.`, {
    suggestion: "Run the simulation again.",
  });
}

const typeOf = ({ analysis }: Waveform): string => analysis.split(" ")[0]?.slice(1) ?? "";

/** The series of a signal: for complex values, magnitude and phase. */
function rowsOf(signal: string, known: readonly string[]): string[] {
  const wanted = signal.trim().toLowerCase();
  return known.filter(
    (name) => [wanted, `v(${wanted})`].includes(name.replace(/ (?:dB|deg)$/u, "")) || name === signal,
  );
}
