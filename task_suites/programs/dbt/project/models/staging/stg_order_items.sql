select
    order_id,
    product_id,
    quantity,
    unit_price,
    quantity * unit_price as amount
from {{ ref('raw_order_items') }}
