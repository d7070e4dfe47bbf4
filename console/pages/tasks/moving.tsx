import MoreHorizontal from "icon:ellipsis";
import { useState, type DragEvent } from "react";
import { useTranslation } from "react-i18next";
import * as z from "zod/mini";
import { moveTask } from "../../api/shaping/tasks.ts";
import { visible } from "../../markdown/links.ts";
import { Menu, type MenuEntry } from "../../parts/menu.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { useToday } from "../../parts/values/today.ts";
import { dayAfter } from "../../run/model-days.ts";
import { localDay, moveOf, reverseOf, type Task, type TaskPlace } from "../../run/tasks.ts";
import { manage } from "../../text/manage/words.ts";
import { calendarDay, weekday } from "../../text/time.ts";

/** The type under which a task is dragged: its id and the day that it stands at, if it stands at one. */
const dragged = "application/x-millrace-task";
/** Days that a menu offers. */
const offered = 7;

/** Puts a task at a place, with a way back for a while. */
function useMove() {
  const { t } = useTranslation(manage);
  return (task: Task, to: TaskPlace, from: string | undefined) => {
    const move = moveOf(task, to, from);
    if (move.plan.length + move.unplan.length === 0 && move.completed === task.completed) return;
    const undo = () => void moveTask(task.id, move.completed, reverseOf(move, task)).catch(notifyError);
    void moveTask(task.id, task.completed, move).then(() => {
      const place = typeof to === "string" ? t(`tasks.state.${to}`) : calendarDay(to.day);
      const action = { label: t("circuits.takeBack"), run: undo };
      notify(t("tasks.moved", { title: visible(task.title.slice(0, 80)), place }), { action, milliseconds: 10_000 });
    }, notifyError);
  };
}

/** Where a task can be moved to, for all who do not drag it. `from`: the day that it stands at. */
export function MoveMenu({ task, from }: { task: Task; from: string | undefined }) {
  const { t } = useTranslation(manage);
  const move = useMove();
  const today = useToday(localDay);
  const days = Array.from({ length: offered }, (_, ahead): MenuEntry => {
    const day = dayAfter(today, ahead);
    const name = ahead === 0 ? t("tasks.state.today") : `${weekday(day)} ${calendarDay(day)}`;
    return { label: name, checked: task.scheduled_dates.includes(day), onSelect: () => move(task, { day }, from) };
  });
  const rest: MenuEntry = { label: t("tasks.state.undated"), onSelect: () => move(task, "undated", from) };
  return (
    <Menu
      label={t("tasks.moveOf", { title: visible(task.title.slice(0, 80)) })}
      button={<MoreHorizontal size={16} />}
      entries={[...days, "line", rest]}
    />
  );
}

/** What makes the row of a task one that can be dragged. */
export function dragOf({ id }: Task, from: string | undefined) {
  return {
    draggable: true,
    onDragStart: ({ dataTransfer }: DragEvent) => {
      dataTransfer.effectAllowed = "move";
      dataTransfer.setData(dragged, JSON.stringify([id, from ?? null]));
    },
  };
}

/** What makes an element a place where tasks can be dropped; without a place it takes none. */
export function useDrop(tasks: readonly Task[], to: TaskPlace | undefined) {
  const move = useMove();
  const [isOver, setOver] = useState(false);
  if (to === undefined) return {};
  return {
    "data-over": isOver || undefined,
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes(dragged)) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      setOver(false);
      const [id, from] = readDragged(event.dataTransfer.getData(dragged));
      const task = tasks.find((one) => one.id === id);
      if (task === undefined) return;
      event.preventDefault();
      move(task, to, from);
    },
  };
}

const Dragged = z.tuple([z.string(), z.nullable(z.string())]);

/** Another page may have dragged what only looks like a task. */
function readDragged(text: string): [id?: string, from?: string | undefined] {
  try {
    const [id, from] = z.parse(Dragged, JSON.parse(text));
    return [id, from ?? undefined];
  } catch {
    return [];
  }
}
