import { z } from "zod";
import type { TaskPlan } from "../../state.ts";
import { success } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";

const Todo = z.object({
  content: z.string().trim().min(1).max(500).describe("one step, in the user's language"),
  status: z.enum(["pending", "in_progress", "completed"]),
});

const stepStatus = { pending: "pending", in_progress: "running", completed: "done" } as const;

/** Writes the plan's steps into the state field `task_plan`; emitted as event `plan`. */
export const writeTodos = defineTool({
  name: "write_todos",
  description:
    "Writes the list of steps of the present task, which the user sees; each call replaces the list. Use it for work of three " +
    "or more steps, or when the user asks for a plan: write the list before you begin, keep exactly one step in_progress, and " +
    "mark each step completed as soon as it is, in one reply with the calls of the next step. Leave it out for anything simpler.",
  schema: z.object({ todos: z.array(Todo).min(1).max(50).describe("the whole list, in the order of the work") }),
  effect: "pure",
  run: async ({ todos }) => {
    const done = todos.filter(({ status }) => status === "completed").length;
    const message = `${done} of ${todos.length} steps are completed.`;
    const message_zh = `共 ${todos.length} 步，已完成 ${done} 步。`;
    return { ...success(message, { message_zh }), session: { task_plan: planOf(todos) } };
  },
  example: {
    title: "Three steps",
    body: '{"todos": [{"content": "Find where the port is set", "status": "in_progress"}, {"content": "Change it", "status": "pending"}, {"content": "Run the tests", "status": "pending"}]}',
  },
});

function planOf(todos: readonly z.infer<typeof Todo>[]): TaskPlan {
  const steps = todos.map(({ content, status }, index) => ({
    id: String(index + 1),
    goal: content,
    tool: null,
    input: "",
    depends_on: [],
    status: stepStatus[status],
    result: null,
  }));
  const isDone = steps.every(({ status }) => status === "done");
  return { goal: "", steps, status: isDone ? "done" : "active" };
}
