import * as z from "zod/mini";

/** A netlist, read: its parts, nets and directives, and what is wrong with its lines. */
export const Netlist = z.object({
  title: z.string(),
  parts: z.array(
    z.object({
      name: z.string(),
      kind: z.string(),
      nodes: z.array(z.string()),
      value: z.string(),
      line: z.number(),
      subcircuit: z.nullable(z.string()),
    }),
  ),
  nets: z.array(z.object({ name: z.string(), parts: z.array(z.string()), subcircuit: z.nullable(z.string()) })),
  directives: z.array(z.object({ card: z.string(), text: z.string(), line: z.number() })),
  problems: z.array(z.object({ line: z.number(), severity: z.enum(["error", "warning"]), message: z.string() })),
});
export type Netlist = z.infer<typeof Netlist>;

/** A goal of a circuit, and how far a simulation has reached it. */
export const Goal = z.object({
  metric: z.string(),
  target: z.union([z.number(), z.string()]),
  way: z.enum(["at_least", "at_most", "near"]),
  unit: z.string(),
  state: z.enum(["reached", "missed", "unknown"]),
  value: z.nullable(z.number()),
  gap: z.nullable(z.number()),
  figure_unit: z.string(),
});
export type Goal = z.infer<typeof Goal>;

/** A circuit as it is now. */
export const Circuit = z.object({
  name: z.string(),
  text: z.string(),
  hash: z.string(),
  netlist: Netlist,
  goals: z.array(Goal),
  goals_problem: z.nullable(z.string()),
});
export type Circuit = z.infer<typeof Circuit>;

/** One simulation of a circuit. */
export const Iteration = z.object({
  iteration_id: z.string(),
  thread_id: z.string(),
  run_id: z.nullable(z.string()),
  call_id: z.string(),
  at: z.string(),
  status: z.enum(["running", "done", "failed", "undone"]),
  message: z.nullable(z.string()),
  metrics: z.record(z.string(), z.number()),
  units: z.record(z.string(), z.string()),
  goals: z.array(Goal),
  notes: z.array(z.string()),
  netlist: z.nullable(z.object({ hash: z.string(), text: z.nullable(z.string()) })),
  is_kept: z.boolean(),
});
export type Iteration = z.infer<typeof Iteration>;

/** The curves of one analysis over its scale. */
export const Waveform = z.object({
  analysis: z.string(),
  scale: z.string(),
  points: z.number(),
  x: z.array(z.number()),
  rows: z.record(z.string(), z.array(z.number())),
});
export type Waveform = z.infer<typeof Waveform>;
