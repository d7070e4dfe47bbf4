import type { AppError } from "@millrace/engine/errors/errors";
import { LabelledSums, type MetricFamily } from "@millrace/engine/metrics/families";
import type { ModelServices } from "@millrace/models/resilience/model-services";
import type { ModelUsage } from "../loop/services.ts";
import type { ToolHook } from "../tools/runtime/hooks.ts";

/** The agent's counters for `GET /metrics`, fed by existing callbacks. */
export interface AgentMetrics {
  /** Called after each model call; without an error it succeeded. */
  onModelCall: (model: string, error?: AppError) => void;
  onUsage: (usage: ModelUsage) => void;
  /** Counts tool calls. */
  hook: ToolHook;
  families(services: Pick<ModelServices, "list">): readonly MetricFamily[];
}

const vendorOf = (model: string): string => model.split(":", 1)[0] ?? model;

/** Counters at zero. */
export function createAgentMetrics(): AgentMetrics {
  const modelCalls = new LabelledSums("vendor", "outcome");
  const tokens = new LabelledSums("vendor", "kind");
  const costs = new LabelledSums("vendor");
  const toolCalls = new LabelledSums("tool", "outcome");
  return {
    onModelCall: (model, error) => modelCalls.add(1, vendorOf(model), error?.code ?? "success"),
    onUsage: ({ model, input_tokens, output_tokens, cost }) => {
      const vendor = vendorOf(model);
      tokens.add(input_tokens, vendor, "input");
      tokens.add(output_tokens, vendor, "output");
      if (cost > 0) costs.add(cost, vendor);
    },
    hook: {
      name: "metrics",
      after: ({ tool }) => toolCalls.add(1, tool, "success"),
      onError: ({ tool }, { errorType }) => toolCalls.add(1, tool, errorType ?? "failed"),
    },
    families: (services) => [
      {
        name: "millrace_model_calls_total",
        help: "Requests to models that came to an end, by vendor and how they ended",
        type: "counter",
        values: modelCalls.values(),
      },
      {
        name: "millrace_tokens_total",
        help: "Tokens of the models' requests and answers",
        type: "counter",
        values: tokens.values(),
      },
      {
        name: "millrace_cost_total",
        help: "What models with a known price have cost, in the unit of their price",
        type: "counter",
        values: costs.values(),
      },
      {
        name: "millrace_tool_calls_total",
        help: "Tool calls that really ran",
        type: "counter",
        values: toolCalls.values(),
      },
      {
        name: "millrace_breakers",
        help: "Models by vendor and by whether they are asked",
        type: "gauge",
        values: breakers(services),
      },
    ],
  };
}

function breakers(services: Pick<ModelServices, "list">) {
  const sums = new LabelledSums("vendor", "state");
  for (const { model, state } of services.list()) sums.add(1, vendorOf(model), state);
  return sums.values();
}
