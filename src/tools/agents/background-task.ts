import { z } from "zod";
import { backgroundText, type BackgroundAgent, type BackgroundAgents } from "../../agents/background.ts";
import { failure, success, type ToolResult } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";

/** Characters shown of one agent's text. */
const shownLength = 1000;

/** Manages background agents: lists them, shows what one does, stops one, clears finished ones. */
export const backgroundTask = defineTool({
  name: "background_task",
  description:
    "Watches over the agents that run_named_subagents has sent to the background. list shows all of them, monitor what one " +
    "does at this moment, kill stops one, cleanup puts away those that have finished, so that they are not listed any more.",
  schema: z.object({
    action: z.enum(["list", "monitor", "cleanup", "kill"]).describe("what to do"),
    session_id: z.string().min(1).optional().describe("the agent that monitor and kill are about, as list shows it"),
  }),
  // Stopping or clearing twice changes nothing.
  effect: "idempotent",
  offered: { mayDelegate: true },
  inTurn: { polling: true },
  run: async ({ action, session_id }, { server: { background } }) => {
    if (background === undefined) return failure("unavailable_tool_mode", "No agents work in the background here.");
    const agents = await background.list();
    if (action === "list") return listed(agents);
    if (action === "cleanup") return await clearFinished(agents, background);
    const agent = agents.find((known) => known.session_id === session_id);
    if (agent === undefined) return unknown(action, session_id, agents);
    return action === "kill" ? await stopped(agent, background) : watched(agent, background);
  },
  example: { title: "What there is", body: '{"action": "list"}' },
});

function listed(agents: readonly BackgroundAgent[]): ToolResult {
  if (agents.length === 0)
    return success("There are no agents in the background.", { data: [], message_zh: "没有后台代理。" });
  const message = `There are ${agents.length} agents in the background.`;
  const content = [message, ...agents.map((agent) => backgroundText(agent, 200))].join("\n");
  return success(message, {
    content,
    data: agents,
    message_zh: `有 ${agents.length} 个后台代理。`,
  });
}

function unknown(action: string, sessionId: string | undefined, agents: readonly BackgroundAgent[]): ToolResult {
  const known = agents.map(({ session_id, name }) => `${session_id} (${name})`).join(", ") || "none";
  const came = sessionId === undefined ? "none came" : `${sessionId} is none of them`;
  return failure(
    "not_found",
    `${action} needs the session_id of an agent in the background: ${came}. There are: ${known}.`,
  );
}

function watched(agent: BackgroundAgent, background: BackgroundAgents): ToolResult {
  const text = backgroundText(agent, shownLength);
  const now = background.watch(agent.session_id);
  const message_zh = `后台代理 ${agent.name}：${agent.report === null ? "正在工作" : "已结束"}。`;
  if (now === undefined) return success(text, { data: { agent, now: null }, message_zh });
  const { iteration, max_iterations, tokens, tool } = now;
  const lines = [text, `Round ${iteration} of ${max_iterations}, ${tokens} tokens so far.`];
  if (tool !== null) lines.push(`Its tool ${tool} is running.`);
  if (now.text !== "") lines.push(`It says: ${now.text.slice(-shownLength).toWellFormed()}`);
  return success(text, { content: lines.join("\n"), data: { agent, now }, message_zh });
}

async function stopped(agent: BackgroundAgent, background: BackgroundAgents): Promise<ToolResult> {
  if (agent.report !== null)
    return success(`Background agent ${agent.name} has finished already; nothing was stopped.`, {
      message_zh: `后台代理 ${agent.name} 已经结束，无需停止。`,
    });
  await background.stop(agent);
  return success(`Background agent ${agent.name} is stopped. What it had done stands.`, {
    message_zh: `后台代理 ${agent.name} 已停止，已完成的内容保留。`,
  });
}

async function clearFinished(agents: readonly BackgroundAgent[], background: BackgroundAgents): Promise<ToolResult> {
  const finished = agents.filter(({ report }) => report !== null);
  await background.clear(finished);
  const left = agents.length - finished.length;
  return success(`${finished.length} finished agents are put away; ${left} are left.`, {
    message_zh: `已移除 ${finished.length} 个已结束的后台代理，剩余 ${left} 个。`,
  });
}
