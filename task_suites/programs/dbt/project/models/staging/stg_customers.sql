select
    customer_id,
    name as customer_name,
    lower(email) as email,
    city,
    country,
    signed_up
from {{ ref('raw_customers') }}
