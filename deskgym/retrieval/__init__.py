"""Documents for agents: crawl a folder of pages, cut them into chunks, and find those that fit a task.

store = Store.build("docs.store", {"dbt": "sites/docs.getdbt.com"})
store.search("declare a source freshness", programs=["dbt"])
"""

from deskgym.retrieval.store import Chunk as Chunk
from deskgym.retrieval.store import Store as Store
from deskgym.retrieval.store import context_text as context_text
