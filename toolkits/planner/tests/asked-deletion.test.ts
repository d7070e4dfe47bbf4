import { afterEach, describe, expect, it } from "vitest";
import { questionFor, readQuestion } from "@millrace/engine/sessions/questions/questions";
import type { ScriptedToolCall } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../../tests/support/workflow.ts";
import { tasksKey } from "../tasks/session-tasks.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

/** What a person is asked about one call, where the operator may want to be asked about tasks. */
async function askedAbout(
  call: ScriptedToolCall,
  besides: { confirmTasks?: boolean },
  prepare: (flow: TestWorkflow) => Promise<unknown>,
): Promise<unknown[]> {
  running = await startWorkflow({ script: [{ toolCalls: [call] }, { text: "Done." }] });
  Object.assign(running.services, besides);
  await prepare(running);
  await running.send("put the things in order, please");
  return (await running.interrupts()).map(({ value }) => value);
}

describe("the deletion of a task (CONF-10, PLANNER-07)", () => {
  const task_id = "019c0b6e-5b6c-7c3e-8d5a-2f6f0a4c9b11";
  const deleting: ScriptedToolCall = { name: "delete_task", arguments: { task_id } };
  const prepare = ({ services }: TestWorkflow) => {
    const at = new Date().toISOString();
    const dates = { owner: null, session_id: null, scheduled_dates: ["2031-05-02"], created_at: at, updated_at: at };
    return services.toolkitServices
      .get(tasksKey)
      .create({ task_id, title: "Water the plants", completed: false, area_id: null, ...dates });
  };

  it("is not asked about by default", async () => {
    expect(await askedAbout(deleting, {}, prepare)).toEqual([]);
    expect(await running?.services.toolkitServices.get(tasksKey).get(task_id)).toBeUndefined();
  });

  it("is asked about with title and days if the operator wants it, and a refusal keeps the task", async () => {
    const asked = await askedAbout(deleting, { confirmTasks: true }, prepare);
    expect(asked).toMatchObject([
      { question: expect.stringContaining('delete the task "Water the plants" (2031-05-02)') },
    ]);
    const { operation } = readQuestion(asked[0]);
    expect(operation && questionFor(operation, "zh")).toBe(
      "这是高风险操作：删除任务“Water the plants”（2031-05-02）。要继续吗？",
    );
    await running?.answer(false);
    expect(await running?.services.toolkitServices.get(tasksKey).get(task_id)).toBeDefined();
  });
});
