import type { RunnableConfig } from "@langchain/core/runnables";
import { servicesOf } from "../../loop/services.ts";
import type { RunContext } from "../../state.ts";
import { chosenToolkits, identityOfToolkits } from "../../toolkits/enabled-toolkits.ts";
import type { Toolkit } from "../../toolkits/toolkit.ts";

/** The toolkits of this run. Throws `invalid_parameter` for one that the server does not have. */
export function runToolkits(context: RunContext, config: RunnableConfig): readonly Toolkit[] {
  return chosenToolkits(context.toolkits, servicesOf(config).toolkits);
}

/** The toolkits of this run that have what their tools need. */
export function availableToolkits(context: RunContext, config: RunnableConfig): readonly Toolkit[] {
  const { toolkitServices: services } = servicesOf(config);
  return runToolkits(context, config).filter(({ isAvailable }) => isAvailable?.({ services, context }) ?? true);
}

/** Whose identity the assistant has: as the run says, else that of a toolkit it names, else the general one. */
export function profileOf(context: RunContext, config: RunnableConfig): string {
  return context.profile ?? identityOfToolkits(context.toolkits, servicesOf(config).toolkits) ?? "general";
}

/** What toolkits bring for the runs of a profile; `undefined` where none has it. */
export function profileParts(profile: string, config: RunnableConfig): Toolkit["identity"] {
  return servicesOf(config).toolkits.find(({ identity }) => identity?.profile === profile)?.identity;
}
