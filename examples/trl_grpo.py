"""GRPO on a desktop with TRL: a language model that acts through tools.

A GPU is needed for any model that gets somewhere::

    python examples/trl_grpo.py --model Qwen/Qwen3-0.6B --task "ladder/*" --steps 200
"""

import argparse

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from deskgym.trainers.trl import desktop_environment, task_rows

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", default="Qwen/Qwen3-0.6B", help="a name on the Hugging Face hub, or a folder")
parser.add_argument("--task", default="ladder/1-tab", help="a task id or a glob")
parser.add_argument("--action", default="code", choices=("code", "computer"))
parser.add_argument("--steps", type=int, default=200, help="optimizer steps")
parser.add_argument("--prompts", type=int, default=500, help="rows of the data set, one task instance each")
parser.add_argument("--generations", type=int, default=8, help="rollouts per row, so desktops at a time")
parser.add_argument("--completion", type=int, default=4096, help="tokens of a rollout, the screens included")
parser.add_argument("--out", default="out/trl_grpo")
parser.add_argument("--cpu", action="store_true")
args = parser.parse_args()

trainer = GRPOTrainer(
    model=args.model,
    environment_factory=desktop_environment(
        action=args.action, screen_size=(1280, 720), text_limit=3000, observation=("a11y", "instruction", "feedback")
    ),
    train_dataset=Dataset.from_list(task_rows(args.task, seeds=range(args.prompts), split="train")),
    args=GRPOConfig(
        output_dir=args.out,
        max_steps=args.steps,
        num_generations=args.generations,
        per_device_train_batch_size=args.generations,
        max_completion_length=args.completion,
        max_tool_calling_iterations=8,
        learning_rate=1e-6,
        logging_steps=1,
        report_to="none",
        use_cpu=args.cpu,
        bf16=not args.cpu,
        chat_template_kwargs={"enable_thinking": False},
    ),
)
trainer.train()
trainer.save_model(args.out)
