import type { RunnableConfig } from "@langchain/core/runnables";
import { servicesOf } from "../../loop/services.ts";
import type { RunContext } from "../../state.ts";
import { chosenToolkits, enabledToolkits, identityOfToolkits } from "../../toolkits/enabled-toolkits.ts";
import type { Toolkit } from "../../toolkits/toolkit.ts";

/** The toolkits of this run. Throws `invalid_parameter` for one that the server does not have. */
export function runToolkits(context: RunContext, config: RunnableConfig): readonly Toolkit[] {
  return chosenToolkits(context.toolkits, serverToolkits(config));
}

/** Whose identity the assistant has: as the run says, else that of a toolkit it names, else the general one. */
export function profileOf(context: RunContext, config: RunnableConfig): string {
  return context.profile ?? identityOfToolkits(context.toolkits, serverToolkits(config)) ?? "general";
}

function serverToolkits(config: RunnableConfig): readonly Toolkit[] {
  return servicesOf(config).toolkits ?? enabledToolkits();
}
