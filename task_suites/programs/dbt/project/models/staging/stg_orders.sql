select
    order_id,
    customer_id,
    order_date,
    status,
    channel
from {{ ref('raw_orders') }}
