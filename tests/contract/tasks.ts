import { describe, expect, it } from "vitest";
import type { Task } from "@millrace/engine/storage/records";
import type { TaskStore } from "@millrace/engine/storage/record-stores";

function task(task_id: string, fields: Partial<Task> = {}): Task {
  const created_at = "2026-01-01T00:00:00.000Z";
  const empty = { owner: null, session_id: null, completed: false, area_id: null, scheduled_dates: [] };
  return { task_id, title: `Task ${task_id}`, ...empty, created_at, updated_at: created_at, ...fields };
}

/** The planner's tasks (PLANNER-01, PLANNER-02). */
export function describeTasks(name: string, create: () => TaskStore): void {
  describe(name, () => {
    it("returns a created task, and refuses an id that exists", async () => {
      const tasks = create();
      const written = task("t1", {
        completed: true,
        area_id: "home",
        scheduled_dates: ["2026-02-03", "2026-02-04"],
        session_id: "s1",
      });
      expect(await tasks.create(written)).toEqual(written);
      expect(await tasks.get("t1")).toEqual(written);
      expect(await tasks.get("t2")).toBeUndefined();
      await expect(tasks.create(task("t1"))).rejects.toMatchObject({ code: "conflict" });
    });

    it("updates only the given fields and the date of change", async () => {
      const tasks = create();
      await tasks.create(task("t1", { area_id: "home" }));
      const updated = await tasks.update("t1", { completed: true });
      expect(updated).toEqual({ ...task("t1", { area_id: "home" }), completed: true, updated_at: expect.any(String) });
      expect(updated?.updated_at).not.toBe(task("t1").updated_at);
      expect(await tasks.get("t1")).toEqual(updated);
      expect(await tasks.update("t1", { area_id: null })).toMatchObject({ area_id: null, completed: true });
      expect(await tasks.update("t2", { completed: true })).toBeUndefined();
    });

    it("plans a task for further days, each once, in order, also concurrently, and removes one", async () => {
      const tasks = create();
      await tasks.create(task("t1", { scheduled_dates: ["2026-02-03"] }));
      const days = ["2026-02-09", "2026-02-01", "2026-02-09", "2026-02-05"];
      await Promise.all(days.map((day) => tasks.schedule("t1", day)));
      const planned = ["2026-02-01", "2026-02-03", "2026-02-05", "2026-02-09"];
      expect((await tasks.get("t1"))?.scheduled_dates).toEqual(planned);
      expect((await tasks.unschedule("t1", "2026-02-03"))?.scheduled_dates).toEqual(planned.toSpliced(1, 1));
      expect((await tasks.unschedule("t1", "2026-02-03"))?.scheduled_dates).toEqual(planned.toSpliced(1, 1));
      expect(await tasks.schedule("t2", "2026-02-03")).toBeUndefined();
      expect(await tasks.unschedule("t2", "2026-02-03")).toBeUndefined();
    });

    it("shows an owner the own tasks, and on request those without an owner", async () => {
      const all = create();
      const [ada, bob] = [all.ownedBy("ada"), all.ownedBy("bob", true)];
      await ada.create(task("hers"));
      await bob.create(task("his"));
      await all.create(task("nobodys"));
      const ids = async (tasks: TaskStore) => (await tasks.find({})).map(({ task_id }) => task_id);
      expect(await ids(all)).toEqual(["hers", "his", "nobodys"]);
      expect(await ids(ada)).toEqual(["hers"]);
      expect(await ids(bob)).toEqual(["his", "nobodys"]);
      expect(await ids(all.ownedBy(null))).toEqual(["nobodys"]);
      expect(await bob.get("hers")).toBeUndefined();
      expect(await bob.update("hers", { title: "mine now" })).toBeUndefined();
      expect(await bob.schedule("hers", "2026-02-03")).toBeUndefined();
      expect(await bob.delete("hers")).toBe(false);
      expect(await ada.get("hers")).toMatchObject({ owner: "ada", title: "Task hers", scheduled_dates: [] });
      await expect(bob.create(task("hers"))).rejects.toMatchObject({ code: "conflict" });
    });

    it("deletes a task once", async () => {
      const tasks = create();
      await tasks.create(task("t1"));
      expect([await tasks.delete("t1"), await tasks.delete("t1")]).toEqual([true, false]);
      expect(await tasks.get("t1")).toBeUndefined();
    });

    it("finds the tasks of a day, without a day and of an area, oldest first", async () => {
      const tasks = create();
      await tasks.create(task("new", { scheduled_dates: ["2026-02-03"], created_at: "2026-01-09T00:00:00.000Z" }));
      await tasks.create(task("old", { scheduled_dates: ["2026-02-02", "2026-02-03"], area_id: "home" }));
      await tasks.create(task("open", { area_id: "home", created_at: "2026-01-05T00:00:00.000Z" }));
      const find = async (filter: Parameters<TaskStore["find"]>[0]) =>
        (await tasks.find(filter)).map((found) => found.task_id);
      expect(await find({ day: "2026-02-03" })).toEqual(["old", "new"]);
      expect(await find({ day: "2026-02-0" })).toEqual([]);
      expect(await find({ staging: true })).toEqual(["open"]);
      expect(await find({ area_id: "home" })).toEqual(["old", "open"]);
      expect(await find({ area_id: "garden" })).toEqual([]);
      expect(await find({})).toEqual(["old", "open", "new"]);
    });
  });
}
