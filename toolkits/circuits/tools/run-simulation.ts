import { z } from "zod";
import { isAppError, type AppError } from "@millrace/engine/errors/errors";
import { readAnalysis, type Analysis } from "../simulation/deck/analysis.ts";
import { prepareDeck, type Deck } from "../simulation/deck/deck.ts";
import type { Measure } from "../simulation/measures/measure.ts";
import { simulate, type Simulated } from "../simulation/simulate.ts";
import { waveformOf } from "../simulation/waveforms.ts";
import { reading, writing } from "../../../src/tools/workspace/file-checks.ts";
import { failure, success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import { keptNetlist, type KeptNetlist } from "../iterations/kept-netlist.ts";
import { simulatorOf } from "../open.ts";
import { assessed, goalsOf, type AssessedGoal } from "./circuit-goals.ts";
import { besideCircuit, circuitFiles, readText } from "./deck-file.ts";
import { figureText, goalText, valueText } from "./figure-text.ts";
import { writeOperation, writeText } from "./write-text.ts";

const name = (what: string) => z.string().max(100).optional().describe(what);
const Configuration = z.object({
  analyses: z
    .array(z.string().max(200))
    .max(5)
    .optional()
    .describe('analyses instead of those of the file, such as ["op", "ac dec 20 1 10meg", "tran 1u 5m"]'),
  output: name("node of the output; default out, vout, output or vo"),
  input: name("source of the input; default the one with an ac value"),
  negative_input: name("source of the inverting input, to measure the common-mode rejection (cmrr)"),
  supply: name("source of the supply, to measure its rejection (psrr)"),
  temperature: z.number().min(-273).max(1000).optional().describe("degrees Celsius; default 27"),
});
type Configuration = z.infer<typeof Configuration>;

const Input = z.object({
  circuit: z.string().describe("path of the SPICE file, relative to the workspace"),
  configuration: Configuration.optional().describe("what is run and measured, where the file does not say it"),
});
type Input = z.infer<typeof Input>;

/** Simulates a circuit, measures it, and stores the result next to it. */
export const runSimulation = defineTool({
  name: "run_simulation",
  description:
    "Simulates a SPICE circuit of the workspace with ngspice (op, dc, ac, tran, noise) and measures gain, bandwidth, phase " +
    "margin, unity-gain frequency, slew rate, rise time, overshoot, distortion, power, noise and rejection. The result goes to " +
    "<name>_sim.json beside the file. Control parts and other programs are not run.",
  schema: Input,
  files: circuitFiles,
  effect: "idempotent",
  timeoutSeconds: 90,
  resources: ({ circuit }, { workspace }) => [reading(workspace, circuit), writing(workspace, resultOf(circuit))],
  kinds: ["Create", "SimpleModify", "ModifyCriticalFile"],
  operation: ({ circuit }, context) => writeOperation(context, resultOf(circuit)),
  touches: ({ circuit }) => ({ kind: "write", path: resultOf(circuit), lastLink: "follow" }),
  run: async (input, context) => {
    try {
      return await run(input, context);
    } catch (error) {
      context.signal.throwIfAborted();
      if (isAppError(error)) return failed(input, error);
      throw error;
    }
  },
  example: {
    title: "Simulate an amplifier",
    body: '{"circuit": "amp.cir", "configuration": {"analyses": ["op", "ac dec 20 10 100meg"], "output": "out"}}',
  },
  guideline: "Simulate after each change of a circuit; change only a few values at a time.",
});

/** Operating point values written out at most. */
const maxOperatingValues = 40;

const resultOf = (circuit: string): string => besideCircuit(circuit, "_sim.json");

async function run({ circuit, configuration = {} }: Input, context: ToolContext): Promise<ToolResult> {
  const texts = new Map<string, string>();
  const deck = await prepareDeck(circuit, async (path) => {
    const text = await readText(context, path);
    texts.set(path, text);
    return text;
  });
  const analyses = analysesOf(deck, configuration);
  const heated = withTemperature(deck, configuration);
  const done = await simulate(heated, analyses, configuration, {
    engine: simulatorOf(context.toolkitServices),
    signal: context.signal,
  });
  const metrics = Object.fromEntries(done.measures.map((one) => [one.name, one.value]));
  const units = unitsOf(done.measures);
  const goals = assessed(await goalsOf(circuit, context), metrics, units);
  const path = await writeText(
    context,
    resultOf(circuit),
    resultText({ circuit, configuration, done, metrics, units, goals, netlist: keptNetlist(circuit, texts) }),
  );
  const missed = goals.filter(({ state }) => state.kind !== "reached");
  const notes = [...deck.notes, ...done.notes];
  const lines = [
    `Simulated ${circuit}: ${analyses.map(({ card }) => card).join(", ")}.`,
    done.measures.length === 0 ? "Nothing was measured." : `Figures: ${done.measures.map(figureText).join(", ")}.`,
    ...operatingPoint(done),
    ...goals.map((goal) => `Goal ${goalText(goal, goal.state, goal.figure_unit)}`),
    ...(goals.length > 0 && missed.length === 0 ? ["All goals are reached."] : []),
    ...notes.map((note) => `Note: ${note}`),
    `Result: ${path}`,
  ];
  return {
    ...success(`Simulated ${circuit}.`, {
      content: lines.join("\n"),
      data: { path, metrics, goals, notes },
      message_zh: `已仿真 ${circuit}。`,
    }),
    metrics,
    session: {
      circuit_file_path: circuit,
      sim_result_path: path,
      last_metrics: metrics,
      error_context: null,
      ...(goals.length === 0 ? {} : { design_goals_summary: JSON.stringify(goals) }),
    },
  };
}

/** The operating point's voltages and currents in one line; those of a large circuit are in the result file. */
function operatingPoint({ analyses }: Simulated): string[] {
  const plot = analyses.find(({ analysis }) => analysis.type === "op")?.plot;
  if (plot === undefined) return [];
  const values = plot.vectors.flatMap(({ name, kind, real: [value] }) => {
    const unit = { voltage: "V", current: "A" }[kind];
    return value === undefined || unit === undefined ? [] : [`${name} ${valueText(value, unit)}`];
  });
  const more = values.length - maxOperatingValues;
  const rest = more > 0 ? `, and ${more} more in the result` : "";
  return values.length === 0 ? [] : [`Operating point: ${values.slice(0, maxOperatingValues).join(", ")}${rest}.`];
}

/** The result of a failed simulation; the result of the last successful one is kept. */
function failed({ circuit }: Input, error: AppError): ToolResult {
  const result = failure(error.code, error.message, error.suggestion);
  // A wrong path says nothing about the session's circuit.
  if (error.code === "not_found" && error.message.includes(`"${circuit}"`)) return result;
  return { ...result, session: { circuit_file_path: circuit, error_context: error.message.slice(0, 1000) } };
}

function analysesOf(deck: Deck, { analyses }: Configuration): Analysis[] {
  const requested = analyses?.map((one) => readAnalysis(one, "configuration")) ?? deck.analyses;
  return requested.length === 0 ? [readAnalysis(".op", "configuration")] : requested;
}

function withTemperature(deck: Deck, { temperature }: Configuration): Deck {
  if (temperature === undefined) return deck;
  const statements = deck.statements.filter(({ text }) => !/^\.temp\b/iu.test(text));
  return { ...deck, statements: [...statements, { text: `.temp ${temperature}`, file: "configuration", line: 0 }] };
}

function resultText(result: {
  circuit: string;
  configuration: Configuration;
  done: Simulated;
  metrics: Record<string, number>;
  units: Record<string, string>;
  goals: readonly AssessedGoal[];
  netlist: KeptNetlist;
}): string {
  const { circuit, configuration, done, metrics, units, goals, netlist } = result;
  const { analyses, output, input, notes } = done;
  const written = {
    timestamp: new Date().toISOString(),
    circuit,
    analysis_type: analyses.map(({ analysis }) => analysis.type).join(", "),
    config: {
      analyses: analyses.map(({ analysis }) => analysis.card),
      output,
      input,
      temperature: configuration.temperature ?? 27,
    },
    metrics,
    units,
    goals,
    notes,
    netlist,
    waveforms: analyses.map(({ analysis, plot }) => waveformOf(analysis, plot, [output, input])),
  };
  // One value per line would make a file of a thousand lines.
  return `${JSON.stringify(written, null, 1).replaceAll(/\n +(?=[-\d.\]])/gu, "")}\n`;
}

function unitsOf(measures: readonly Measure[]): Record<string, string> {
  return Object.fromEntries(measures.filter(({ unit }) => unit !== "").map((one) => [one.name, one.unit]));
}
